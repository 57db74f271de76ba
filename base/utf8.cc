#include "base/utf8.h"

#include <algorithm>

namespace pipeline {

std::size_t Utf8CharacterBytes(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = at(0);
  if (lead < 0x80) return 1;
  const std::size_t size = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  if (size == 0 || text.size() < size) return 0;
  const unsigned low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const unsigned high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  if (at(1) < low || at(1) > high) return 0;
  for (std::size_t i = 2; i < size; ++i)
    if ((at(i) & 0xc0) != 0x80) return 0;
  return size;
}

std::string_view Utf8Front(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
  return text.substr(0, most);
}

char32_t TakeUtf8Character(std::string_view& text) {
  const std::size_t size = Utf8CharacterBytes(text);
  const auto lead = static_cast<unsigned char>(text.front());
  char32_t code_point = size == 0 ? 0xFFFD : size == 1 ? lead : lead & (0x7Fu >> size);
  for (std::size_t at = 1; at < size; ++at)
    code_point = code_point << 6 | (static_cast<unsigned char>(text[at]) & 0x3Fu);
  text.remove_prefix(std::max<std::size_t>(size, 1));
  return code_point;
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = Utf8CharacterBytes(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

}  // namespace pipeline
