#include "base/terminal_text.h"

#include "base/utf8.h"

namespace pipeline {

std::string TerminalText(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const bool is_c0 = byte < 0x20 && text[at] != '\n' && text[at] != '\t';
    const bool is_c1 =
        byte == 0xC2 && at + 1 < text.size() && (static_cast<unsigned char>(text[at + 1]) & 0xE0) == 0x80;
    shown += is_c0 || is_c1 || byte == 0x7F ? '?' : text[at];
    at += is_c1;
  }
  return shown;
}

std::string Readable(std::string_view text, std::size_t most) {
  std::string readable;
  for (const char c : Utf8Front(text, most)) {
    const auto byte = static_cast<unsigned char>(c);
    readable += byte < 0x20 || byte == 0x7f ? ' ' : c;
  }
  return text.size() <= most ? readable : readable + "...";
}

}  // namespace pipeline
