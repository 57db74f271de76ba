#include "plugins/train/hosts/host_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/str.h"
#include "base/terminal_text.h"
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
  int port = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, port);
  return error == std::errc() && rest == end && port >= 1 && port <= 65535;
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

}  // namespace pipeline
