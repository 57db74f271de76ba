#include "text/utf16_check.h"

#include "text/encoding.h"

namespace pipeline {

namespace {

// So many bytes of UTF-16 are never UTF-8 by chance: a NUL or an impossible byte comes before.
constexpr std::size_t kUtf8Run = 256;
constexpr std::size_t kUtf8Text = 24;       // a whole text that ends with LF
constexpr std::uint64_t kMostBytes = 1000;  // decoded, for each illegal sequence behind a lost byte

unsigned char Byte(std::string_view character, std::size_t at) {
  return static_cast<unsigned char>(character[at]);
}

/// Returns the continuation bytes behind `lead`; -1: it begins no character of a text in UTF-8.
int ContinuationsOf(unsigned char lead) {
  if (lead < 0x80)
    return (lead >= 0x20 && lead != 0x7F) || lead == '\t' || lead == '\n' || lead == '\r' ? 0 : -1;
  if (lead < 0xC2 || lead > 0xF4) return -1;
  return lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
}

bool IsOf0AXX(std::string_view character) {
  return Byte(character, 0) == 0xE0 && Byte(character, 1) >= 0xA8 && Byte(character, 1) <= 0xAB;
}

}  // namespace

std::string_view Utf16Check::Fault(std::string_view raw, std::string_view decoded, bool whole) {
  if (BecomesUtf8(raw, whole))
    return "these bytes are UTF-8 or ASCII; split the text there, or set encoding: utf-8 if all of it is";
  if (LostAByte(decoded))
    return "surrogates have no pair, and line ends come in the other byte order; a byte was lost or added "
           "there; mend the text";
  return {};
}

bool Utf16Check::BecomesUtf8(std::string_view raw, bool whole) {
  for (const char each : raw) {
    const auto byte = static_cast<unsigned char>(each);
    if (continuations_ > 0 && (byte & 0xC0) == 0x80) {
      --continuations_;
      ++run_;
    } else if (const int behind = ContinuationsOf(byte); behind < 0 || continuations_ > 0) {
      run_ = behind < 0 ? 0 : 1;
      run_has_line_end_ = run_ > 0 && byte == '\n';
      continuations_ = behind < 0 ? 0 : behind;
    } else {
      continuations_ = behind;
      ++run_;
      run_has_line_end_ = run_has_line_end_ || byte == '\n';
    }
    if (run_ >= kUtf8Run && run_has_line_end_) return true;
  }
  return whole && run_ == raw.size() && run_ >= kUtf8Text && raw.back() == '\n';
}

bool Utf16Check::LostAByte(std::string_view decoded) {
  for (std::size_t i = 0; i < decoded.size(); ++i) {
    const std::string_view rest = decoded.substr(i);
    ++bytes_;
    if (Byte(rest, 0) >= 0xC0 || Byte(rest, 0) < 0x80) PassHalves(rest);
    if (rest[0] == '\n') {
      bytes_ = illegal_ = swapped_ = line_ends_ = 0;
      before_ = Half::kNone;
    } else if (rest[0] == kIllegalSequence) {
      ++illegal_;
    } else if (IsOf0AXX(rest)) {
      ++swapped_;
      if (Byte(rest, 1) == 0xA8 && Byte(rest, 2) == 0x80) ++illegal_;  // no character: LF beside ASCII
    }
    if (swapped_ > 0 && illegal_ > 1 && illegal_ * kMostBytes > bytes_) return true;
    if (line_ends_ > 1) return true;
  }
  return false;
}

/// A line end beside a lost byte becomes two characters: one of U+0A00 to 0AFF has its 0A, and the one beside
/// that ends in its 00.
void Utf16Check::PassHalves(std::string_view character) {
  const auto byte = [&](std::size_t at) { return Byte(character, at); };
  Half half = Half::kNone;
  if (IsOf0AXX(character))
    half = Half::kLineFeed;
  else if (byte(0) >= 0xE0 ? byte(0) < 0xF0 && (byte(1) & 3) == 0 && byte(2) == 0x80
                           : byte(0) >= 0xC0 && (byte(0) & 3) == 0 && byte(1) == 0x80)
    half = Half::kNul;
  if (half != Half::kNone && before_ != Half::kNone && half != before_) ++line_ends_;
  before_ = half;
}

}  // namespace pipeline
