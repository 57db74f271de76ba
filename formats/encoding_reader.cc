#include "formats/encoding_reader.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/byte_reader.h"
#include "base/str.h"
#include "text/encoding_guess.h"
#include "text/utf16_check.h"

namespace pipeline {

namespace {

constexpr std::size_t kInputBlock = 64 << 10;

class EncodingReader : public RepeatingReader {
 public:
  EncodingReader(std::unique_ptr<ByteReader> input, const EncodingRules& rules, std::uint64_t offset,
                 std::shared_ptr<EncodingChoice> choice)
      : input_(std::move(input)),
        known_(rules.known),
        by_letters_(rules.by_letters),
        offset_(offset),
        choice_(std::move(choice)) {
    if (rules.fixed) {
      Become(*rules.fixed);
    } else if (known_) {
      const bool whole =
          *known_ == Encoding::kUtf8 || *known_ == Encoding::kUtf16Le || *known_ == Encoding::kUtf16Be;
      if (whole) Choose(*known_, 0);
      if (!whole) state_ = State::kAscii;
    } else if (offset > 0) {
      state_ = State::kAscii;
    }
  }

 private:
  enum class State : std::uint8_t { kFront, kAscii, kDeciding, kUtf8, kDecoding, kDecoded };

  Result<std::size_t> ReadSome(std::span<char> out) override {
    while (true) {
      if (given_ < ready_.size()) {
        const std::size_t bytes = std::min(out.size(), ready_.size() - given_);
        std::copy_n(ready_.data() + given_, bytes, out.data());
        given_ += bytes;
        return bytes;
      }
      ready_.clear();
      given_ = 0;
      switch (state_) {
        case State::kFront: RETURN_IF_ERROR(DecideAtFront()); break;
        case State::kDeciding: RETURN_IF_ERROR(Decide()); break;
        case State::kDecoding: RETURN_IF_ERROR(DecodeBlock()); break;
        case State::kDecoded: return end_;
        case State::kUtf8: return input_ == nullptr ? end_ : input_->Read(out);
        case State::kAscii: {
          Result<std::size_t> got = ended_ ? end_ : input_->Read(out);
          if (!got.ok() || *got == 0) return got;
          const std::string_view bytes(out.data(), *got);
          const std::size_t at = FindDecidingByte(bytes, false);
          offset_ += std::min(at, *got);
          if (at == std::string_view::npos) return got;
          held_ = bytes.substr(at);
          state_ = State::kDeciding;
          if (at > 0) return at;
          break;
        }
      }
    }
  }

  // Damaged input is no failure yet: the bytes before it decide about the encoding and are given out first.
  // Every other failure is returned at once.
  Status Hold(std::size_t bytes) {
    while (held_.size() < bytes && !ended_) {
      const std::size_t before = held_.size();
      held_.resize(std::min(bytes, before + kInputBlock));
      Result<std::size_t> got = input_->Read(std::span(held_).subspan(before));
      held_.resize(before + (got.ok() ? *got : 0));
      if (!got.ok() && got.status().code() != Code::kDataLoss) return std::move(got).status();
      ended_ = !got.ok() || *got == 0;
      if (ended_) end_ = std::move(got);
    }
    return {};
  }

  Status DecideAtFront() {
    RETURN_IF_ERROR(Hold(kDecidingBytes));
    std::size_t at = FindDecidingByte(held_, true);
    if (at != std::string::npos) {
      RETURN_IF_ERROR(Hold(at + kDecidingBytes));
      ASSIGN_OR_RETURN(const std::optional<Encoding> wide, GuessWideEncoding(held_));
      if (wide) {
        Choose(*wide, 0);
        return {};
      }
      at = FindDecidingByte(held_, false);
    } else if (by_letters_) {
      RETURN_IF_ERROR(CheckAscii(held_));
    }
    offset_ += std::min(at, held_.size());
    ready_.assign(held_, 0, at);
    held_.erase(0, at);
    state_ = at == std::string::npos ? State::kAscii : State::kDeciding;
    return {};
  }

  // held_ begins with the first byte that can decide about the encoding.
  Status Decide() {
    if (known_) {
      Choose(*known_, offset_);
      return {};
    }
    RETURN_IF_ERROR(Hold(kDecidingBytes));
    ASSIGN_OR_RETURN(const Encoding encoding,
                     GuessEncoding(std::string_view(held_).substr(0, kDecidingBytes), by_letters_));
    Choose(encoding, offset_);
    return {};
  }

  void Choose(Encoding encoding, std::uint64_t offset) {
    if (choice_) choice_->Make({encoding, offset});
    Become(encoding);
  }

  void Become(Encoding encoding) {
    if (encoding != Encoding::kUtf8) {
      encoding_ = encoding;
      state_ = State::kDecoding;
      return;
    }
    state_ = State::kUtf8;
    ready_ += std::exchange(held_, {});
    if (ended_) input_.reset();
  }

  // Each block has the same number of input bytes, except the last one.
  Status DecodeBlock() {
    if (!decoder_) {
      ASSIGN_OR_RETURN(decoder_, EncodingDecoder::New(encoding_));
    }
    RETURN_IF_ERROR(Hold(kInputBlock));
    const std::size_t bytes = std::min(held_.size(), kInputBlock);
    const bool last = bytes == held_.size() && ended_;
    RETURN_IF_ERROR(decoder_->Decode(std::string_view(held_).substr(0, bytes), last, ready_));
    if (encoding_ == Encoding::kUtf16Le || encoding_ == Encoding::kUtf16Be) {
      std::string_view raw = std::string_view(held_).substr(0, bytes);
      if (decoded_ == 0 && (raw.starts_with("\xFF\xFE") || raw.starts_with("\xFE\xFF"))) raw.remove_prefix(2);
      const std::string_view fault = utf16_.Fault(raw, ready_, last && decoded_ == 0);
      if (!fault.empty())
        return Status(Code::kInvalidArgument, StrCat("is no ", EncodingName(encoding_), " from about byte ",
                                                     decoded_, " on: ", fault));
    }
    decoded_ += bytes;
    held_.erase(0, bytes);
    if (last) state_ = State::kDecoded;
    return {};
  }

  std::unique_ptr<ByteReader> input_;  // null: a text in UTF-8 has ended
  const std::optional<Encoding> known_;
  const bool by_letters_;
  State state_ = State::kFront;
  std::string held_;       // read, not yet decoded
  std::string ready_;      // decoded
  std::size_t given_ = 0;  // bytes of ready_ that were given out
  std::uint64_t offset_;   // in the text, of the first byte that can decide about the encoding
  const std::shared_ptr<EncodingChoice> choice_;
  Encoding encoding_ = Encoding::kUtf8;
  std::optional<EncodingDecoder> decoder_;
  Utf16Check utf16_;
  std::uint64_t decoded_ = 0;  // bytes of the text; with Encoding::kUtf16Le and kUtf16Be
  bool ended_ = false;
  Result<std::size_t> end_ = std::size_t{0};  // result of the input's end; valid with ended_
};

}  // namespace

std::unique_ptr<ByteReader> NewEncodingReader(std::unique_ptr<ByteReader> input, const EncodingRules& rules,
                                              std::uint64_t offset, std::shared_ptr<EncodingChoice> choice) {
  if (rules.fixed == Encoding::kUtf8) return input;
  return std::make_unique<EncodingReader>(std::move(input), rules, offset, std::move(choice));
}

}  // namespace pipeline
