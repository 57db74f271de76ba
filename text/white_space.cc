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
