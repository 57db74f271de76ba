#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "formats/stream_decoder.h"

namespace pipeline {

namespace {

/// Returns whether these are the first two bytes of RFC 1950: deflate without a dictionary, and a correct
/// sum. No compressor begins a stream of RFC 1951 so: it would be a stored block with odd bits.
bool IsZlibHeader(std::string_view front) {
  const auto first = static_cast<unsigned char>(front[0]), second = static_cast<unsigned char>(front[1]);
  return (first & 0x0f) == 8 && (first >> 4) <= 7 && (second & 0x20) == 0 && (first * 256 + second) % 31 == 0;
}

class DeflateReader : public StreamDecoder {
 public:
  explicit DeflateReader(std::unique_ptr<ByteReader> input)
      : StreamDecoder("deflate", std::move(input)), state_(std::make_unique<inflate_state>()) {
    isal_inflate_init(state_.get());
  }

 private:
  Result<bool> Step(std::string_view& in, bool last, std::span<char>& out) override {
    if (is_ended_) {
      if (!in.empty()) return OtherBytes();
      return last;
    }
    if (header_.size() < 2) {
      const std::string_view more = in.substr(0, 2 - header_.size());
      header_ += more;
      in.remove_prefix(more.size());
      if (header_.size() < 2) {
        if (last) return Status(Code::kDataLoss, "ends inside the stream: truncated");
        return false;
      }
      // Without a wrapper the two bytes are data. With one, ISA-L compares its checksum with the content.
      is_zlib_ = IsZlibHeader(header_);
      state_->crc_flag = is_zlib_ ? ISAL_ZLIB_NO_HDR_VER : ISAL_DEFLATE;
      if (!is_zlib_) front_ = header_;
    }
    if (!front_.empty()) {
      std::string_view front = front_;
      ASSIGN_OR_RETURN(const bool ended, Inflate(front, false, out));
      front_ = std::string(front);
      return ended && in.empty() && last;
    }
    return Inflate(in, last, out);
  }

  static Status OtherBytes() { return {Code::kDataLoss, "other bytes follow the end of the stream"}; }

  Result<bool> Inflate(std::string_view& in, bool last, std::span<char>& out) {
    bool idle = false;
    const int code = MoveBytes(*state_, in, out, idle, [this] { return isal_inflate(state_.get()); });
    if (code == ISAL_INCORRECT_CHECKSUM) return Status(Code::kDataLoss, "its checksum differs");
    if (code != ISAL_DECOMP_OK) return Status(Code::kDataLoss, "the data breaks the format");
    is_ended_ = state_->block_state == ISAL_BLOCK_FINISH;
    // The library reads up to eight bytes ahead.
    if (is_ended_ && state_->read_in_length >= 8) return OtherBytes();
    if (is_ended_) return last && in.empty();
    if (last && idle) return Status(Code::kDataLoss, "ends inside the stream: truncated");
    return false;
  }

  const std::unique_ptr<inflate_state> state_;
  std::string header_;  // the first two bytes
  std::string front_;   // the bytes of header_ that are data
  bool is_zlib_ = false;
  bool is_ended_ = false;
};

}  // namespace

Result<std::unique_ptr<ByteReader>> NewDeflateReader(std::unique_ptr<ByteReader> input) {
  return std::make_unique<DeflateReader>(std::move(input));
}

}  // namespace pipeline
