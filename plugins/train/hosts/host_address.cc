#include "plugins/train/hosts/host_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "base/str.h"
#include "base/terminal_text.h"
#include "base/words.h"
#include "plugins/train/hosts/host_position.h"

namespace pipeline {

namespace {

constexpr std::size_t kShownEntry = 40;  // bytes of an entry in a reason

Status NoAddress(std::string_view entry) {
  if (entry.empty()) return Status(Code::kInvalidArgument, "an entry is empty");
  return Status(Code::kInvalidArgument,
                StrCat("`", Readable(TerminalText(entry), kShownEntry), "` is no name or address of a host"));
}

bool IsPort(std::string_view text) {
  const auto port = ParseNumber<int>(text);
  return port && *port >= 1 && *port <= 65535;
}

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

Result<Range> ParseRange(std::string_view text) {
  const std::string_view first = text.substr(0, text.find('-'));
  const std::string_view last = first.size() == text.size() ? first : text.substr(first.size() + 1);
  const auto from = ParseNumber<std::uint64_t>(first), to = ParseNumber<std::uint64_t>(last);
  const std::string shown = Readable(TerminalText(text), kShownRange);
  if (!from || !to || std::max(first.size(), last.size()) > kMostDigits)
    return Wrong(StrCat("`", shown, "` in its brackets is no number and no range of numbers"));
  if (*to < *from) return Wrong(StrCat("the range `", shown, "` ends before it begins"));
  return Range{*from, *to, static_cast<int>(first.size())};
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

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

bool IsHostName(std::string_view text) {
  return !text.empty() && text.size() <= kLongestHostName &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
                  c == '-' || c == '_';
         });
}

bool IsIpv6(std::string_view text) {
  // A longer text is no address; inet_pton ends at a NUL, so it must not see one.
  if (text.size() >= INET6_ADDRSTRLEN || text.find('\0') != std::string_view::npos) return false;
  std::array<unsigned char, sizeof(in6_addr)> address{};
  return inet_pton(AF_INET6, std::string(text).c_str(), address.data()) == 1;
}

Result<std::string> ParseHostAddress(std::string_view text) {
  const bool bracketed = text.size() > 2 && text.front() == '[' && text.back() == ']';
  const std::string_view address = bracketed ? text.substr(1, text.size() - 2) : text;
  if (!IsIpv6(address) && (bracketed || !IsHostName(address))) return NoAddress(text);
  return std::string(address);
}

Result<std::string> ParseProcessAddress(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  // The last colon belongs to the address: "fd00::1", "[fd00::1]".
  if (colon == std::string_view::npos || IsIpv6(text) || text.back() == ']') return ParseHostAddress(text);
  const std::string_view address = text.substr(0, colon);
  // "fd00::1:99999" is no address, and nobody can say where its port begins.
  if (!IsPort(text.substr(colon + 1)) || IsIpv6(address)) return NoAddress(text);
  return ParseHostAddress(address);
}

Result<std::vector<std::string>> ParseHostList(std::string_view text,
                                               Result<std::string> (*parse)(std::string_view entry)) {
  std::vector<std::string> addresses;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    if (addresses.size() == kMostHosts)
      return Status(Code::kInvalidArgument, StrCat("it lists more than ", kMostHosts, " hosts"));
    ASSIGN_OR_RETURN(addresses.emplace_back(), parse(Trimmed(rest.substr(0, comma))));
    if (comma == std::string_view::npos) return addresses;
    rest.remove_prefix(comma + 1);
  }
}

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
