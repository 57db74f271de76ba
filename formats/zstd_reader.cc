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

struct FreeZstdContext {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};
using ZstdContext = std::unique_ptr<ZSTD_DCtx, FreeZstdContext>;

/// Returns whether a skippable frame begins with `front`.
bool IsSkippable(std::string_view front) {
  return front.size() >= 4 && (static_cast<unsigned char>(front[0]) & 0xF0) == 0x50 &&
         front.substr(1, 3) == "\x2A\x4D\x18";
}

class ZstdReader : public StreamDecoder {
 public:
  ZstdReader(ZstdContext context, std::unique_ptr<ByteReader> input)
      : StreamDecoder("zstd", std::move(input)), context_(std::move(context)) {}

 private:
  // A call gets one block, and the decoded bytes are fetched before the next one, because the library drops
  // the bytes that it decoded in a call that fails.
  Result<bool> Step(std::string_view& in, bool last, std::span<char>& out) override {
    if (!frame_begun_) {
      if (members() > 0 && header_.empty()) {
        ASSIGN_OR_RETURN(const bool begins, PassPadding(in, last, IsZstd));
        if (!begins) return last && in.empty();
      }
      ASSIGN_OR_RETURN(frame_begun_, TakeHeader(in));
      if (!frame_begun_) {
        if (!last) return false;
        if (!header_.empty()) return Truncated();
        if (members() == 0) return Status(Code::kDataLoss, "there is nothing");
        return true;
      }
      header_left_ = header_;
    }
    std::string_view& from = header_left_.empty() ? in : header_left_;
    const std::size_t wanted = header_left_.empty() ? hint_ : header_left_.size();
    ZSTD_inBuffer source = {from.data(), full_ ? 0 : std::min(from.size(), wanted), 0};
    ZSTD_outBuffer target = {out.data(), out.size(), 0};
    const std::size_t code = ZSTD_decompressStream(context_.get(), &target, &source);
    from.remove_prefix(source.pos);
    out = out.subspan(target.pos);
    if (ZSTD_isError(code)) return Failure(code);
    const bool flushed = std::exchange(full_, out.empty());
    hint_ = code;
    if (code == 0) {
      EndMember();
      frame_begun_ = false;
      header_.clear();
      return false;
    }
    if (!last || flushed || target.pos > 0 || !header_left_.empty()) return false;
    return Truncated();
  }

  // Moves the header of a frame out of `in`; false: more of it comes later. The library gets the header in
  // one piece, and only after a check of its magic: if the library does not accept a header, it looks for its
  // oldest formats at the front of the last bytes that it got.
  Result<bool> TakeHeader(std::string_view& in) {
    while (header_.size() < HeaderBytes()) {
      if (in.empty()) return false;
      header_ += in.front();
      in.remove_prefix(1);
      if (header_.size() == kMagicBytes && !IsZstd(header_))
        return Status(Code::kDataLoss, "a frame that is none of zstd's since version 0.8");
    }
    return true;
  }

  // Returns the size of the header as far as it is known: RFC 8878, 3.1.
  std::size_t HeaderBytes() const {
    if (header_.size() < kMagicBytes) return kMagicBytes;
    if (IsSkippable(header_)) return kMagicBytes + 4;
    if (header_.size() == kMagicBytes) return kMagicBytes + 1;
    const auto descriptor = static_cast<unsigned char>(header_[kMagicBytes]);
    constexpr std::size_t kDictionary[] = {0, 1, 2, 4};
    constexpr std::size_t kContent[] = {0, 2, 4, 8};
    const bool single_segment = (descriptor & 0x20) != 0;
    const std::size_t content = descriptor >> 6 == 0 && single_segment ? 1 : kContent[descriptor >> 6];
    return kMagicBytes + 1 + (single_segment ? 0 : 1) + kDictionary[descriptor & 3] + content;
  }

  static Status Truncated() { return Status(Code::kDataLoss, "ends inside a frame: truncated"); }

  static Status Failure(std::size_t code) {
    if (ZSTD_getErrorCode(code) == ZSTD_error_frameParameter_windowTooLarge)
      return Status(Code::kResourceExhausted,
                    StrCat("its window is larger than ", HumanBytes(std::uint64_t{1} << kWindowLog),
                           "; compress it again with --long=", kWindowLog, " or less"));
    if (ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation)
      return Status(Code::kResourceExhausted, "no memory for its window");
    return Status(Code::kDataLoss, ZSTD_getErrorName(code));
  }

  static constexpr std::size_t kMagicBytes = 4;

  const ZstdContext context_;
  std::string header_;            // header of the present frame, or the front of the next one
  std::string_view header_left_;  // the bytes of header_ that the library has not taken yet
  std::size_t hint_ = 0;          // bytes that the library can use at once
  bool full_ = false;             // the library may still have decoded bytes
  bool frame_begun_ = false;
};

}  // namespace

bool IsZstd(std::string_view front) { return front.starts_with("\x28\xB5\x2F\xFD") || IsSkippable(front); }

Result<std::unique_ptr<ByteReader>> NewZstdReader(std::unique_ptr<ByteReader> input) {
  ZstdContext context(ZSTD_createDCtx());
  if (context == nullptr ||
      ZSTD_isError(ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, kWindowLog)))
    return Status(Code::kResourceExhausted, "no memory for a zstd decoder");
  return std::make_unique<ZstdReader>(std::move(context), std::move(input));
}

}  // namespace pipeline
