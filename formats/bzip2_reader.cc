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
      ASSIGN_OR_RETURN(const bool begins, MemberBegins(in, last, IsBzip2));
      if (!begins) return last && in.empty();
      stream_ = {};
      if (const int code = BZ2_bzDecompressInit(&stream_, 0, 0); code != BZ_OK) return Bzip2Reason(code);
      in_stream_ = true;
    }
    bool idle = false;
    const int code = MoveBytes(stream_, in, out, idle, [this] { return BZ2_bzDecompress(&stream_); });
    if (code == BZ_STREAM_END) {
      EndStream();
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
