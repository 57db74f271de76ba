#include "plugins/train/hosts/node_list.h"

#include <charconv>
#include <cstdint>
#include <utility>

#include "base/str.h"
#include "base/terminal_text.h"
#include "plugins/train/hosts/host_address.h"
#include "plugins/train/hosts/host_position.h"

namespace pipeline {

namespace {

constexpr std::size_t kShownRange = 40;  // bytes of a range in a reason
constexpr std::size_t kMostDigits = 18;  // of a number; it fits 64 bits

Status Wrong(std::string reason) { return Status(Code::kInvalidArgument, std::move(reason)); }

Status TooMany() { return Wrong(StrCat("it lists more than ", kMostHosts, " nodes")); }

/// From `first` to `last`, each with at least `width` digits.
struct Range {
  std::uint64_t first;
  std::uint64_t last;
  int width;
};

bool ParseNumber(std::string_view digits, std::uint64_t& number) {
  const char* const end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, number);
  return digits.size() <= kMostDigits && error == std::errc() && rest == end;
}

Result<Range> ParseRange(std::string_view text) {
  const std::string_view first = text.substr(0, text.find('-'));
  const std::string_view last = first.size() == text.size() ? first : text.substr(first.size() + 1);
  Range range{.first = 0, .last = 0, .width = 0};
  const std::string shown = Readable(TerminalText(text), kShownRange);
  if (!ParseNumber(first, range.first) || !ParseNumber(last, range.last))
    return Wrong(StrCat("`", shown, "` in its brackets is no number and no range of numbers"));
  if (range.last < range.first) return Wrong(StrCat("the range `", shown, "` ends before it begins"));
  range.width = static_cast<int>(first.size());
  return range;
}

/// The text between two brackets as texts, at most `most`.
Result<std::vector<std::string>> ExpandRanges(std::string_view text, std::size_t most) {
  std::vector<std::string> numbers;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    ASSIGN_OR_RETURN(const Range range, ParseRange(rest.substr(0, comma)));
    if (range.last - range.first >= most - numbers.size()) return TooMany();
    for (std::uint64_t number = range.first; number <= range.last; ++number)
      numbers.push_back(ZeroPadded(number, range.width));
    if (comma == std::string_view::npos) return numbers;
    rest.remove_prefix(comma + 1);
  }
}

/// Ends every one of `names` with each of `endings`.
Status Extend(std::vector<std::string>& names, const std::vector<std::string>& endings) {
  std::vector<std::string> longer;
  longer.reserve(names.size() * endings.size());
  for (const std::string& name : names) {
    for (const std::string& ending : endings) {
      if (name.size() + ending.size() > kLongestHostName)
        return Wrong(StrCat("a name is longer than ", kLongestHostName, " characters"));
      longer.push_back(name + ending);
    }
  }
  names = std::move(longer);
  return {};
}

/// One entry, e.g. "r[1-2]n[01-02]", as at most `most` names.
Result<std::vector<std::string>> ExpandEntry(std::string_view entry, std::size_t most) {
  if (entry.empty()) return Wrong("an entry is empty");
  std::vector<std::string> names = {""};
  while (!entry.empty()) {
    if (entry.front() == '[') {
      const std::size_t end = entry.find(']');
      ASSIGN_OR_RETURN(const std::vector<std::string> numbers,
                       ExpandRanges(entry.substr(1, end - 1), most / names.size()));
      RETURN_IF_ERROR(Extend(names, numbers));
      entry.remove_prefix(end + 1);
    } else {
      const std::string_view text = entry.substr(0, entry.find('['));
      if (!IsHostName(text))
        return Wrong(StrCat("`", Readable(TerminalText(text), kShownRange), "` is no part of a node's name"));
      RETURN_IF_ERROR(Extend(names, {std::string(text)}));
      entry.remove_prefix(text.size());
    }
  }
  return names;
}

/// Bytes of the first entry: up to a comma outside of brackets, or to the end.
Result<std::size_t> EntrySize(std::string_view text) {
  bool inside = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == ',' && !inside) return at;
    if (text[at] == '[' && std::exchange(inside, true)) return Wrong("a bracket begins inside of another");
    if (text[at] == ']' && !std::exchange(inside, false)) return Wrong("a bracket ends and does not begin");
  }
  if (inside) return Wrong("a bracket has no end");
  return text.size();
}

}  // namespace

Result<std::vector<std::string>> ParseNodeList(std::string_view text) {
  std::vector<std::string> nodes;
  for (std::string_view rest = text;;) {
    ASSIGN_OR_RETURN(const std::size_t size, EntrySize(rest));
    if (nodes.size() == kMostHosts) return TooMany();
    ASSIGN_OR_RETURN(std::vector<std::string> names,
                     ExpandEntry(Trimmed(rest.substr(0, size)), kMostHosts - nodes.size()));
    for (std::string& name : names) nodes.push_back(std::move(name));
    if (size == rest.size()) return nodes;
    rest.remove_prefix(size + 1);
  }
}

}  // namespace pipeline
