#include "text/utf16_check.h"

#include <array>

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

constexpr std::int8_t kBehindLead = -1, kImpossible = -2;

/// By the first byte of a character of a text in UTF-8: the continuation bytes behind it.
constexpr std::array<std::int8_t, 256> kContinuations = [] {
  std::array<std::int8_t, 256> behind{};
  const auto fill = [&](int first, int last, std::int8_t value) {
    for (int byte = first; byte <= last; ++byte) behind[static_cast<std::size_t>(byte)] = value;
  };
  fill(0x00, 0x1F, kImpossible);
  for (const int byte : {'\t', '\n', '\r'}) fill(byte, byte, 0);
  fill(0x7F, 0x7F, kImpossible);
  fill(0x80, 0xBF, kBehindLead);
  fill(0xC0, 0xC1, kImpossible);
  fill(0xC2, 0xDF, 1);
  fill(0xE0, 0xEF, 2);
  fill(0xF0, 0xF4, 3);
  fill(0xF5, 0xFF, kImpossible);
  return behind;
}();

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
  Utf8Run run = run_;  // a copy that stays in registers
  for (const char each : raw) {
    const auto byte = static_cast<unsigned char>(each);
    const int behind = kContinuations[byte];
    if (run.lacks > 0 && behind == kBehindLead) {
      --run.lacks;
      ++run.bytes;
      continue;
    }
    if (run.lacks > 0 || behind < 0) run = {};
    if (behind < 0) continue;
    run.lacks = behind;
    ++run.bytes;
    run.has_line_end = run.has_line_end || byte == '\n';
    if (run.bytes >= kUtf8Run && run.has_line_end) return true;
  }
  run_ = run;
  return whole && run.bytes == raw.size() && run.bytes >= kUtf8Text && raw.back() == '\n';
}

bool Utf16Check::LostAByte(std::string_view decoded) {
  for (std::size_t i = 0; i < decoded.size(); ++i) {
    const unsigned char first = Byte(decoded, i);
    ++bytes_;
    if (first >= 0x80 && first < 0xC0) continue;  // inside a character: nothing new
    const std::string_view character = decoded.substr(i);
    PassHalves(character);
    if (first == '\n') {
      bytes_ = illegal_ = swapped_ = line_ends_ = 0;
      before_ = Half::kNone;
    } else if (decoded[i] == kIllegalSequence) {
      ++illegal_;
    } else if (IsOf0AXX(character)) {
      ++swapped_;
      if (Byte(character, 1) == 0xA8 && Byte(character, 2) == 0x80)
        ++illegal_;  // no character: LF beside ASCII
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
