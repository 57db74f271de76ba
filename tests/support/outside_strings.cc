#include "tests/support/outside_strings.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/digest.h"
#include "base/str.h"
#include "tests/support/built_tree.h"

namespace pipeline {

namespace {

constexpr std::size_t kDigits = 8;

std::string DigestOfLine(std::string_view line) { return DigestOf(line).ToHex().substr(0, kDigits); }

std::string WithDigest(std::string_view line) { return StrCat(DigestOfLine(line), ' ', line); }

/// On one line, and with every byte visible.
std::string Shown(std::string_view string) {
  std::string shown;
  for (const char byte : string) {
    const auto code = static_cast<unsigned char>(byte);
    if (code >= 0x20 && code < 0x7f && byte != '\\') {
      shown.push_back(byte);
    } else {
      shown += "\\x";
      shown.push_back("0123456789abcdef"[code >> 4]);
      shown.push_back("0123456789abcdef"[code & 15]);
    }
  }
  return shown;
}

void AddPaths(OutsideStrings& strings, std::string_view kind, const std::string& path, const Json& json) {
  if (json.is_object()) {
    for (const auto& [name, value] : json.AsObject()) {
      const std::string below = path.empty() ? name : StrCat(path, '.', name);
      strings.Add(kind, below);
      AddPaths(strings, kind, below, value);
    }
  } else if (json.is_array()) {
    for (const Json& element : json.AsArray()) AddPaths(strings, kind, StrCat(path, "[]"), element);
  }
}

}  // namespace

OutsideStrings& OutsideStrings::Add(std::string_view kind, std::string_view string) {
  lines_.insert(StrCat(kind, ": ", Shown(string)));
  return *this;
}

OutsideStrings& OutsideStrings::AddMembers(std::string_view kind, const Json& json) {
  AddPaths(*this, kind, {}, json);
  return *this;
}

std::string TableDifferences(const OutsideStrings& strings, std::string_view text, std::string_view file) {
  std::string remedy;  // what the table says of a wanted change
  std::string edited, gone, added;
  std::set<std::string> pinned;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.starts_with("# ")) {
      remedy += line.substr(1);
    } else if (const std::string_view string = line.substr(std::min(line.size(), kDigits + 1));
               line == WithDigest(string)) {
      pinned.emplace(string);
      if (!strings.lines().contains(std::string(string)))
        gone += StrCat("  line ", number, " pins a string that the program has no more: ", string, "\n");
    } else {
      edited += StrCat("  line ", number, " was edited: its digest is not that of: ", string, "\n");
    }
  }
  for (const std::string& line : strings.lines())
    if (!pinned.contains(line)) added += StrCat("  ", WithDigest(line), "\n");
  std::string told;
  if (!edited.empty() || !gone.empty())
    told += StrCat("Strings changed that others hold. Take the change back.", remedy, "\n", edited, gone);
  if (!added.empty()) told += StrCat("Strings that are in no line yet. If each is meant, add:\n", added);
  return told.empty() ? told : StrCat(file, ":\n", told);
}

testing::AssertionResult ArePinned(const OutsideStrings& strings, std::string_view subject) {
  const std::string file = StrCat("tests/golden/outside_strings/", subject, ".txt");
  std::ifstream in(std::filesystem::path(SourceDir()) / file);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const std::string told = TableDifferences(strings, text, file);
  return told.empty() ? testing::AssertionSuccess() : testing::AssertionFailure() << told;
}

}  // namespace pipeline
