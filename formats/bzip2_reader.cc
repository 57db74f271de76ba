#include "formats/bzip2_reader.h"

#include <bzlib.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/str.h"
#include "formats/stream_decoder.h"

namespace pipeline {

namespace {

Status Bzip2Reason(int code) {
  switch (code) {
    case BZ_MEM_ERROR: return Status(Code::kResourceExhausted, "no memory to decode it");
    case BZ_DATA_ERROR_MAGIC: return Status(Code::kDataLoss, "no stream header stands here");
    case BZ_DATA_ERROR: return Status(Code::kDataLoss, "the data breaks the format, or a checksum differs");
    default: return Status(Code::kInternal, StrCat("libbz2 fails with ", code));
  }
}

class Bzip2Reader : public StreamDecoder {
 public:
  explicit Bzip2Reader(std::unique_ptr<ByteReader> input) : StreamDecoder("bzip2", std::move(input)) {}
  ~Bzip2Reader() override { EndStream(); }

 private:
  Result<bool> Step(std::string_view& in, bool last, std::span<char>& out) override {
    if (!in_stream_) {
      if (streams_ > 0) {
        ASSIGN_OR_RETURN(const bool begins, PassPadding(in, last, IsBzip2));
        if (!begins) return last && in.empty();
      } else if (in.empty()) {
        if (last) return Status(Code::kDataLoss, "there is nothing");
        return false;
      }
      stream_ = {};
      if (const int code = BZ2_bzDecompressInit(&stream_, 0, 0); code != BZ_OK) return Bzip2Reason(code);
      in_stream_ = true;
    }
    constexpr std::size_t kMost = std::numeric_limits<unsigned>::max();
    const auto room = static_cast<unsigned>(std::min(out.size(), kMost));
    const auto given = static_cast<unsigned>(in.size());  // `in` is a part of a small buffer
    // The library does not write to its input, although its C signature is not const.
    stream_.next_in = const_cast<char*>(in.data());
    stream_.avail_in = given;
    stream_.next_out = out.data();
    stream_.avail_out = room;
    const int code = BZ2_bzDecompress(&stream_);
    const bool idle = stream_.avail_in == given && stream_.avail_out == room;
    in.remove_prefix(given - stream_.avail_in);
    out = out.subspan(room - stream_.avail_out);
    if (code == BZ_STREAM_END) {
      EndStream();
      ++streams_;
      EndMember();
      return false;
    }
    if (code != BZ_OK) return Bzip2Reason(code);
    if (last && idle) return Status(Code::kDataLoss, "ends inside a stream: truncated");
    return false;
  }

  void EndStream() {
    if (std::exchange(in_stream_, false)) BZ2_bzDecompressEnd(&stream_);
  }

  bz_stream stream_ = {};
  bool in_stream_ = false;
  std::uint64_t streams_ = 0;
};

}  // namespace

bool IsBzip2(std::string_view front) {
  // The size of its blocks, then a block (pi) or the end of the stream (its square root).
  if (front.size() < 4 || !front.starts_with("BZh") || front[3] < '1' || front[3] > '9') return false;
  const std::string_view next = front.substr(4, 6);
  return std::string_view("\x31\x41\x59\x26\x53\x59").starts_with(next) ||
         std::string_view("\x17\x72\x45\x38\x50\x90").starts_with(next);
}

Result<std::unique_ptr<ByteReader>> NewBzip2Reader(std::unique_ptr<ByteReader> input) {
  return std::make_unique<Bzip2Reader>(std::move(input));
}

}  // namespace pipeline
