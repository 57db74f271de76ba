#include "stages/sources/scan_note.h"

#include <algorithm>
#include <utility>

#include "base/str.h"
#include "base/words.h"

namespace pipeline {

namespace {

constexpr std::string_view kCr = " cr";

/// Takes the next number from the front of `text`. Absent: none stands there.
std::optional<std::uint64_t> TakeNumber(std::string_view& text) {
  return ParseNumber<std::uint64_t>(TakeUntil(text, ' '));
}

}  // namespace

std::string ToString(const ScanNote& note) {
  std::string text = note.offset ? std::to_string(*note.offset) : "-";
  for (const StreamPosition& position : note.positions)
    text += StrCat(" ", position.stored, " ", position.raw);
  return note.ends == LineEnds::kCr ? text + std::string(kCr) : text;
}

ScanNote ParseScanNote(std::string_view text) {
  ScanNote note;
  if (text.ends_with(kCr)) {
    note.ends = LineEnds::kCr;
    text.remove_suffix(kCr.size());
  }
  note.offset = TakeNumber(text);
  while (!text.empty()) {
    const std::optional<std::uint64_t> stored = TakeNumber(text), raw = TakeNumber(text);
    if (!stored || !raw) break;
    note.positions.push_back({*stored, *raw});
  }
  return note;
}

std::vector<bool> JoinedPartitions(std::string_view note) {
  const ScanNote parsed = ParseScanNote(note);
  if (parsed.positions.empty()) return {};
  std::vector<bool> joined = {false};
  std::uint64_t before = 0;  // where decoding begins for the partition before
  for (const StreamPosition& position : parsed.positions)
    joined.push_back(std::exchange(before, position.raw) == position.raw);
  return joined;
}

}  // namespace pipeline
