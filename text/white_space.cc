#include "text/white_space.h"

#include <cstring>

#include "text/code_point_set.h"

namespace pipeline {

namespace {

constexpr CodePointSet MakeWhiteSpaceSet() {
  CodePointSet set;
  for (char32_t c = 0; c < 0x10000; ++c)
    if (IsWhiteSpace(c)) set.Add(c);
  return set;
}
constexpr CodePointSet kWhiteSpace = MakeWhiteSpaceSet();

/// Bytes of the character at `at` if it has the property White_Space; otherwise 0. Not a CodePointSet, which
/// matches valid UTF-8 alone.
std::size_t UnicodeSpaceAt(std::string_view text, std::size_t at) {
  const char lead = text[at];
  if (lead == ' ' || (lead >= '\t' && lead <= '\r')) return 1;
  const auto byte = [text, at](std::size_t i) {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U;
  };
  const unsigned middle = byte(1), last = byte(2);
  switch (static_cast<unsigned char>(lead)) {
    case 0xC2: return middle == 0x85 || middle == 0xA0 ? 2 : 0;  // U+0085, U+00A0
    case 0xE1: return middle == 0x9A && last == 0x80 ? 3 : 0;    // U+1680
    case 0xE2:                                                   // U+2000 to U+200A, U+2028, 2029, 202F, 205F
      if (middle == 0x81) return last == 0x9F ? 3 : 0;
      if (middle != 0x80) return 0;
      return (last >= 0x80 && last <= 0x8A) || last == 0xA8 || last == 0xA9 || last == 0xAF ? 3 : 0;
    case 0xE3: return middle == 0x80 && last == 0x80 ? 3 : 0;  // U+3000
    default: return 0;
  }
}

bool IsContinuation(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

}  // namespace

std::size_t WhiteSpaceEnd(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    const std::size_t size = kWhiteSpace.MatchAt(text, at);
    if (size == 0) break;
    at += size;
  }
  return at;
}

std::size_t UnicodeSpaceEnd(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    const std::size_t size = UnicodeSpaceAt(text, at);
    if (size == 0) break;
    at += size;
  }
  return at;
}

std::string_view StripWhiteSpace(std::string_view text) {
  text.remove_prefix(WhiteSpaceEnd(text, 0));
  while (!text.empty()) {
    std::size_t last = text.size() - 1;
    while (last > 0 && IsContinuation(text[last])) --last;
    if (kWhiteSpace.MatchAt(text, last) == 0) break;
    text.remove_suffix(text.size() - last);
  }
  return text;
}

void CollapseWhiteSpace(std::string& text, std::size_t begin) {
  const std::string_view before = text;
  std::size_t write = begin;  // end of the written text; before[copied, at) comes next
  std::size_t copied = begin;
  const auto move_up_to = [&](std::size_t end) {
    if (write != copied) std::memmove(text.data() + write, text.data() + copied, end - copied);
    write += end - copied;
  };
  for (std::size_t at = begin; at < before.size();) {
    if (kWhiteSpace.MatchAt(before, at) == 0) {
      at += Utf8Size(before[at]);
      continue;
    }
    const std::size_t end = WhiteSpaceEnd(before, at);
    if (before.substr(at, end - at) != " ") {
      move_up_to(at);
      text[write++] = ' ';
      copied = end;
    }
    at = end;
  }
  if (copied == begin) return;
  move_up_to(before.size());
  text.resize(write);
}

}  // namespace pipeline
