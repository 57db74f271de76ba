#include "cli/terminal/columns.h"

#include <algorithm>

#include "base/utf8.h"

namespace pipeline {

namespace {

/// Returns 2 for emoji and East Asian wide and full-width characters, 0 for combining marks, otherwise 1.
std::size_t ColumnsOf(char32_t c) {
  if ((c >= 0x300 && c <= 0x36F) || (c >= 0x200B && c <= 0x200F) || (c >= 0x3099 && c <= 0x309A) ||
      (c >= 0xFE00 && c <= 0xFE0F))
    return 0;
  const bool wide = (c >= 0x1100 && c <= 0x115F) || (c >= 0x2E80 && c <= 0x303E) ||
                    (c >= 0x3041 && c <= 0xA4CF) || (c >= 0xAC00 && c <= 0xD7A3) ||
                    (c >= 0xF900 && c <= 0xFAFF) || (c >= 0xFE30 && c <= 0xFE6F) ||
                    (c >= 0xFF00 && c <= 0xFF60) || (c >= 0xFFE0 && c <= 0xFFE6) ||
                    (c >= 0x1F300 && c <= 0x1FAFF) || (c >= 0x20000 && c <= 0x3FFFD);
  return wide ? 2 : 1;
}

}  // namespace

std::size_t ColumnsOf(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) columns += ColumnsOf(TakeUtf8Character(text));
  return columns;
}

std::string FitColumns(std::string_view text, std::size_t columns) {
  if (ColumnsOf(text) <= columns) return std::string(text);
  constexpr std::string_view kMark = "...";
  const std::string_view mark = kMark.substr(0, std::min(columns, kMark.size()));
  std::size_t left = columns - mark.size();
  std::string_view rest = text;
  while (true) {
    const std::string_view before = rest;
    const std::size_t wide = ColumnsOf(TakeUtf8Character(rest));
    if (wide > left) return std::string(text.substr(0, text.size() - before.size())) + std::string(mark);
    left -= wide;
  }
}

}  // namespace pipeline
