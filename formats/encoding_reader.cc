#include "formats/encoding_reader.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/repeating_reader.h"
#include "base/str.h"
#include "text/encoding_guess.h"

namespace pipeline {

namespace {

constexpr std::size_t kInputBlock = 64 << 10;

/// Finds where a byte was lost or added in UTF-16: the characters behind it come from halves of two others.
class Utf16Order {
 public:
  /// `decoded` is the next part of the text; it ends with a character.
  bool Breaks(std::string_view decoded) {
    for (std::size_t i = 0; i < decoded.size(); ++i) {
      const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(decoded[i + k]); };
      ++bytes_;
      if (byte(0) >= 0xC0 || byte(0) < 0x80) PassHalves(decoded.substr(i));
      if (decoded[i] == '\n') {
        *this = {};
      } else if (decoded[i] == kIllegalSequence) {
        ++illegal_;
      } else if (byte(0) == 0xE0 && byte(1) >= 0xA8 && byte(1) <= 0xAB) {  // U+0A00 to 0AFF
        ++swapped_;
        if (byte(1) == 0xA8 && byte(2) == 0x80) ++illegal_;  // no character: LF beside ASCII
      }
      if (swapped_ > 0 && illegal_ > 1 && illegal_ * kMostBytes > bytes_) return true;
      if (line_ends_ > 1) return true;
    }
    return false;
  }

 private:
  enum class Half : std::uint8_t { kNone, kLineFeed, kNul };

  /// A line end beside a lost byte becomes two characters: one of U+0A00 to 0AFF has its 0A, and the one
  /// beside that ends in its 00.
  void PassHalves(std::string_view character) {
    const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(character[k]); };
    Half half = Half::kNone;
    if (byte(0) == 0xE0 && byte(1) >= 0xA8 && byte(1) <= 0xAB)
      half = Half::kLineFeed;
    else if (byte(0) >= 0xE0 ? byte(0) < 0xF0 && (byte(1) & 3) == 0 && byte(2) == 0x80
                             : byte(0) >= 0xC0 && (byte(0) & 3) == 0 && byte(1) == 0x80)
      half = Half::kNul;
    if (half != Half::kNone && before_ != Half::kNone && half != before_) ++line_ends_;
    before_ = half;
  }

  static constexpr std::uint64_t kMostBytes = 1000;  // for each illegal one
  std::uint64_t bytes_ = 0;                          // since the last line end
  std::uint64_t illegal_ = 0;
  std::uint64_t swapped_ = 0;
  std::uint64_t line_ends_ = 0;  // in the other byte order
  Half before_ = Half::kNone;
};

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
    if ((encoding_ == Encoding::kUtf16Le || encoding_ == Encoding::kUtf16Be) && byte_order_.Breaks(ready_))
      return Status(Code::kInvalidArgument,
                    StrCat("is no ", EncodingName(encoding_), " from about byte ", decoded_,
                           " on: surrogates have no pair, and line ends come in the other byte order; a byte "
                           "was lost or added there; mend the text"));
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
  Utf16Order byte_order_;
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
