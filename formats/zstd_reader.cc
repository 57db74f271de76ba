#include "formats/zstd_reader.h"

#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/str.h"
#include "formats/stream_decoder.h"

namespace pipeline {

namespace {

constexpr int kWindowLog = 27;

struct FreeContext {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};
using Context = std::unique_ptr<ZSTD_DCtx, FreeContext>;

class ZstdReader : public StreamDecoder {
 public:
  ZstdReader(Context context, std::unique_ptr<ByteReader> input)
      : StreamDecoder("zstd", std::move(input)), context_(std::move(context)) {}

 private:
  // One block at a time, and what was decoded is fetched before more is put in: the library drops what
  // it decoded in a call that fails.
  Result<bool> Step(std::string_view& in, bool last, std::span<char>& out) override {
    // The magic by itself: the library would go on into formats of its youth.
    const std::size_t wanted = magic_.size() < kMagicBytes ? kMagicBytes - magic_.size() : hint_;
    ZSTD_inBuffer source = {in.data(), full_ ? 0 : std::min(in.size(), wanted), 0};
    ZSTD_outBuffer target = {out.data(), out.size(), 0};
    const std::size_t code = ZSTD_decompressStream(context_.get(), &target, &source);
    const std::string_view taken = in.substr(0, source.pos);
    in.remove_prefix(source.pos);
    out = out.subspan(target.pos);
    if (ZSTD_isError(code)) return Failure(code);
    if (!TakeMagic(taken)) return Status(Code::kDataLoss, "a frame that is none of zstd's since version 0.8");
    const bool flushed = std::exchange(full_, out.empty());
    frame_begun_ = code != 0 && (frame_begun_ || source.pos > 0);
    if (code == 0) ++frames_, magic_.clear();
    hint_ = code == 0 ? kFirstHint : code;
    if (!last || flushed || target.pos > 0) return false;
    if (frame_begun_) return Status(Code::kDataLoss, "ends inside a frame: truncated");
    if (frames_ == 0) return Status(Code::kDataLoss, "there is nothing");
    return true;
  }

  /// False when what the frame begins with is neither a zstd nor a skippable frame (RFC 8878, 3.1).
  bool TakeMagic(std::string_view taken) {
    if (magic_.size() == kMagicBytes || taken.empty()) return true;
    magic_ += taken;
    if (magic_.size() < kMagicBytes) return true;
    const bool skippable =
        (static_cast<unsigned char>(magic_[0]) & 0xf0) == 0x50 && magic_.ends_with("\x2a\x4d\x18");
    return magic_ == "\x28\xb5\x2f\xfd" || skippable;
  }

  static Status Failure(std::size_t code) {
    if (ZSTD_getErrorCode(code) == ZSTD_error_frameParameter_windowTooLarge)
      return Status(Code::kResourceExhausted,
                    StrCat("its window is larger than ", HumanBytes(std::uint64_t{1} << kWindowLog),
                           "; compress it again with --long=", kWindowLog, " or less"));
    if (ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation)
      return Status(Code::kResourceExhausted, "no memory for its window");
    return Status(Code::kDataLoss, ZSTD_getErrorName(code));
  }

  static constexpr std::size_t kFirstHint = 5;  // the shortest frame header with its magic

  const Context context_;
  static constexpr std::size_t kMagicBytes = 4;

  std::string magic_;              // of the frame that has begun, as far as it was read
  std::size_t hint_ = kFirstHint;  // what the library can use at once
  bool full_ = false;              // it may hold back decoded bytes
  bool frame_begun_ = false;
  std::uint64_t frames_ = 0;
};

}  // namespace

Result<std::unique_ptr<ByteReader>> NewZstdReader(std::unique_ptr<ByteReader> input) {
  Context context(ZSTD_createDCtx());
  if (context == nullptr ||
      ZSTD_isError(ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, kWindowLog)))
    return Status(Code::kResourceExhausted, "no memory for a zstd decoder");
  return std::unique_ptr<ByteReader>(std::make_unique<ZstdReader>(std::move(context), std::move(input)));
}

}  // namespace pipeline
