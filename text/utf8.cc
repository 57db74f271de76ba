#include "text/utf8.h"

#include <algorithm>

#include "text/utf8_blocks.h"

namespace pipeline {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr char32_t kLastCharacter = 0x10FFFF;

// Compilers make one load of this for little-endian processors.
std::uint32_t Load32(const unsigned char* p) {
  return p[0] | std::uint32_t{p[1]} << 8 | std::uint32_t{p[2]} << 16 | std::uint32_t{p[3]} << 24;
}
std::uint64_t Load64(const unsigned char* p) { return Load32(p) | std::uint64_t{Load32(p + 4)} << 32; }

// Subtracting 1 from each byte sets a high bit if a byte was 0, and the borrow goes only to higher bytes.
bool IsCleanAscii8(std::uint64_t word) {
  return (((word - 0x0101010101010101u) | word) & 0x8080808080808080u) == 0;
}

// `word` is four bytes; the first three matter.
bool IsThreeByteChar(std::uint32_t word) {
  if ((word & 0x00C0C0F0u) != 0x008080E0u) return false;
  const std::uint32_t lead_and_range = word & 0x0000200Fu;  // E0 needs A0..BF next, ED needs 80..9F
  return lead_and_range != 0x0000u && lead_and_range != 0x200Du;
}

struct Subpart {
  std::size_t bytes;
  bool clean;
};

// Classifies the bytes at p < end: a character, or a maximal subpart of an ill-formed one.
Subpart Classify(const unsigned char* p, const unsigned char* end) {
  const unsigned lead = *p;
  if (lead < 0x80) return {1, lead != 0};
  if (lead < 0xC2 || lead > 0xF4) return {1, false};
  const std::size_t bytes = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  const unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  const auto available = static_cast<std::size_t>(end - p);
  if (available < 2 || p[1] < low || p[1] > high) return {1, false};
  for (std::size_t i = 2; i < bytes; ++i)
    if (i == available || (p[i] & 0xC0) != 0x80) return {i, false};
  return {bytes, true};
}

}  // namespace

std::size_t CleanUtf8Prefix(std::string_view text) {
  const auto* const begin = reinterpret_cast<const unsigned char*>(text.data());
  const unsigned char* const end = begin + text.size();
  const unsigned char* p = begin;
  while (p != end) {
    // Text consists of runs of ASCII, and of kana and kanji; other characters are read one by one.
    while (end - p >= 8 && IsCleanAscii8(Load64(p))) p += 8;
    while (end - p >= 4 && IsThreeByteChar(Load32(p))) p += 3;
    if (p == end) break;
    const Subpart part = Classify(p, end);
    if (!part.clean) break;
    p += part.bytes;
  }
  return static_cast<std::size_t>(p - begin);
}

bool IsCleanUtf8(std::string_view text) {
  constexpr std::size_t kLong = 64;
  if (text.size() >= kLong && HasUtf8Blocks()) return IsCleanUtf8Blocks(text);
  return CleanUtf8Prefix(text) == text.size();
}

std::size_t CountCharacters(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char byte) { return !IsUtf8Tail(byte); }));
}

std::size_t DecodeUtf8(std::string_view& text, std::span<char32_t> out) {
  const auto* const begin = reinterpret_cast<const unsigned char*>(text.data());
  const unsigned char* const end = begin + text.size();
  const unsigned char* p = begin;
  char32_t* to = out.data();
  char32_t* const full = to + out.size();
  while (true) {
    for (auto most = std::min((end - p) / 3, full - to); most > 0 && (*p & 0xF0) == 0xE0; --most, p += 3)
      *to++ = (p[0] & 0x0Fu) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
    for (auto most = std::min(end - p, full - to); most > 0 && *p < 0x80; --most) *to++ = *p++;
    if (p == end || to == full) break;
    const unsigned lead = *p;
    const auto left = static_cast<std::size_t>(end - p);
    if (lead >= 0xE0 && lead < 0xF0 && left >= 3) continue;
    if (lead < 0xE0 && left >= 2) {
      *to++ = (lead & 0x1Fu) << 6 | (p[1] & 0x3Fu), p += 2;
    } else if (lead >= 0xF0 && left >= 4) {
      const char32_t c = (lead & 0x07u) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu);
      *to++ = std::min(c, kLastCharacter), p += 4;
    } else {
      *to++ = 0xFFFD, p = end;
    }
  }
  text.remove_prefix(static_cast<std::size_t>(p - begin));
  return static_cast<std::size_t>(to - out.data());
}

std::string_view EncodeCharacter(char32_t code, std::array<char, 4>& bytes) {
  const auto tail = [code](int shift) { return static_cast<char>(0x80 | ((code >> shift) & 0x3F)); };
  if (code < 0x80) {
    bytes = {static_cast<char>(code)};
    return {bytes.data(), 1};
  }
  if (code < 0x800) {
    bytes = {static_cast<char>(0xC0 | code >> 6), tail(0)};
    return {bytes.data(), 2};
  }
  if (code < 0x10000) {
    bytes = {static_cast<char>(0xE0 | code >> 12), tail(6), tail(0)};
    return {bytes.data(), 3};
  }
  bytes = {static_cast<char>(0xF0 | code >> 18), tail(12), tail(6), tail(0)};
  return {bytes.data(), 4};
}

Utf8Damage RepairUtf8(std::string_view text, std::string& out) {
  Utf8Damage damage;
  while (true) {
    const std::size_t clean = CleanUtf8Prefix(text);
    out.append(text.substr(0, clean));
    text.remove_prefix(clean);
    if (text.empty()) return damage;
    const auto* const p = reinterpret_cast<const unsigned char*>(text.data());
    ++(*p == 0 ? damage.nul : damage.invalid_utf8);
    out.append(kReplacement);
    text.remove_prefix(Classify(p, p + text.size()).bytes);
  }
}

std::string Printable(std::string_view text) {
  std::string repaired;
  RepairUtf8(text.substr(0, kPrintableBytes), repaired);
  std::string printable;
  for (std::size_t at = 0; at < repaired.size(); ++at) {
    const auto byte = static_cast<unsigned char>(repaired[at]);
    if (std::string_view(repaired).substr(at, 3) == "\uFFFD") {
      printable += '?';
      at += 2;
    } else if (byte == 0xC2 && at + 1 < repaired.size() &&
               static_cast<unsigned char>(repaired[at + 1]) < 0xA0) {
      printable += '?';  // a control character of Latin-1
      ++at;
    } else {
      printable += byte < 0x20 || byte == 0x7F ? '?' : repaired[at];
    }
  }
  if (text.size() > kPrintableBytes) printable += "...";
  return printable;
}

}  // namespace pipeline
