#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "formats/stream_decoder.h"

namespace pipeline {

namespace {

std::string_view Reason(int code) {
  switch (code) {
    case ISAL_INVALID_WRAPPER: return "no gzip header stands here";
    case ISAL_UNSUPPORTED_METHOD: return "another method than deflate";
    case ISAL_INCORRECT_CHECKSUM: return "checksum or length differs";
    default: return "the deflate data breaks the format";
  }
}

bool BeginsGzip(std::string_view front) { return front.starts_with("\x1F\x8B"); }

class GzipReader : public StreamDecoder {
 public:
  explicit GzipReader(std::unique_ptr<ByteReader> input)
      : StreamDecoder("gzip", std::move(input)), state_(std::make_unique<inflate_state>()) {}

 private:
  Result<bool> Step(std::string_view& in, bool last, std::span<char>& out) override {
    if (!in_member_) {
      ASSIGN_OR_RETURN(const bool begins, MemberBegins(in, last, BeginsGzip));
      if (!begins) return last && in.empty();
      isal_inflate_init(state_.get());
      state_->crc_flag = ISAL_GZIP_NO_HDR_VER;
      isal_gzip_header_init(&header_);
      in_member_ = in_header_ = true;
    }
    // ISA-L 2.30 with ISAL_GZIP would read the header itself, but forgets its flags between two calls.
    const bool in_header = in_header_;
    bool idle = false;
    int code = MoveBytes(*state_, in, out, idle, [&] {
      return in_header ? isal_read_gzip_header(state_.get(), &header_) : isal_inflate(state_.get());
    });
    if (in_header && code == ISAL_DECOMP_OK) in_header_ = false;
    if (in_header && code == ISAL_END_INPUT) code = ISAL_DECOMP_OK;
    if (code != ISAL_DECOMP_OK) return Status(Code::kDataLoss, std::string(Reason(code)));
    if (!in_header && state_->block_state == ISAL_BLOCK_FINISH) {
      in_member_ = false;
      EndMember();
    } else if (last && idle) {
      return Status(Code::kDataLoss, "ends inside a member: truncated");
    }
    return false;
  }

  const std::unique_ptr<inflate_state> state_;
  isal_gzip_header header_;
  bool in_member_ = false;
  bool in_header_ = false;
};

}  // namespace

bool IsGzip(std::string_view front) { return front.starts_with("\x1F\x8B\x08"); }

Result<std::unique_ptr<ByteReader>> NewGzipReader(std::unique_ptr<ByteReader> input) {
  return std::make_unique<GzipReader>(std::move(input));
}

}  // namespace pipeline
