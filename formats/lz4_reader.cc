#include <lz4frame.h>

#include <algorithm>
#include <utility>

#include "formats/stream_decoder.h"

namespace pipeline {

namespace {

struct FreeLz4Context {
  void operator()(LZ4F_dctx* context) const { LZ4F_freeDecompressionContext(context); }
};
using Lz4Context = std::unique_ptr<LZ4F_dctx, FreeLz4Context>;

/// A frame, or a skippable one.
bool BeginsFrame(std::string_view front) {
  return IsLz4(front) || (front.size() >= 4 && (static_cast<unsigned char>(front[0]) & 0xF0) == 0x50 &&
                          front.substr(1, 3) == "\x2A\x4D\x18");
}

class Lz4Reader : public StreamDecoder {
 public:
  Lz4Reader(Lz4Context context, std::unique_ptr<ByteReader> input)
      : StreamDecoder("lz4", std::move(input)), context_(std::move(context)) {}

 private:
  // A call gets one block without the header of the next one, because the library drops the bytes that it
  // decoded in a call that fails.
  Result<bool> Step(std::string_view& in, bool last, std::span<char>& out) override {
    if (members() > 0 && !frame_begun_) {
      ASSIGN_OR_RETURN(const bool begins, PassPadding(in, last, BeginsFrame));
      if (!begins) return last && in.empty();
    }
    const std::size_t wanted = hint_ > kBlockHeader ? hint_ - kBlockHeader : hint_;
    std::size_t taken = std::min(in.size(), wanted);
    std::size_t given = out.size();
    const std::size_t code = LZ4F_decompress(context_.get(), out.data(), &given, in.data(), &taken, nullptr);
    in.remove_prefix(taken);
    out = out.subspan(given);
    if (LZ4F_isError(code)) return Status(Code::kDataLoss, LZ4F_getErrorName(code));
    const bool flushed = std::exchange(full_, out.empty());
    frame_begun_ = code != 0 && (frame_begun_ || taken > 0);
    if (code == 0) EndMember();
    hint_ = code == 0 ? kFirstHint : code;
    if (!last || flushed || given > 0 || taken > 0) return false;
    if (frame_begun_) return Status(Code::kDataLoss, "ends inside a frame: truncated");
    if (members() == 0) return Status(Code::kDataLoss, "there is nothing");
    return true;
  }

  static constexpr std::size_t kFirstHint = 7;  // the shortest frame header
  static constexpr std::size_t kBlockHeader = 4;

  const Lz4Context context_;
  std::size_t hint_ = kFirstHint;  // bytes that the library can use at once
  bool full_ = false;              // the library may still have decoded bytes
  bool frame_begun_ = false;
};

}  // namespace

bool IsLz4(std::string_view front) { return front.starts_with("\x04\x22\x4D\x18"); }

Result<std::unique_ptr<ByteReader>> NewLz4Reader(std::unique_ptr<ByteReader> input) {
  LZ4F_dctx* raw = nullptr;
  if (LZ4F_isError(LZ4F_createDecompressionContext(&raw, LZ4F_VERSION)))
    return Status(Code::kResourceExhausted, "no memory for an lz4 decoder");
  return std::make_unique<Lz4Reader>(Lz4Context(raw), std::move(input));
}

}  // namespace pipeline
