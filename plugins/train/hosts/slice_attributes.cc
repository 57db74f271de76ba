#include "plugins/train/hosts/slice_attributes.h"

#include "plugins/train/hosts/host_address.h"

namespace pipeline {

namespace {

std::string_view Unquoted(std::string_view value) {
  for (const char quote : {'\'', '"'})
    if (value.size() >= 2 && value.front() == quote && value.back() == quote)
      return Trimmed(value.substr(1, value.size() - 2));
  return value;
}

Result<std::string> ParseEndpoint(std::string_view entry) {
  if (!IsIpv6(entry) && !entry.starts_with('[')) {
    const std::size_t id = entry.find(':');
    const std::size_t address = id == std::string_view::npos ? id : entry.find(':', id + 1);
    // The address may have colons of its own. With one colon the whole entry is refused: neither form has it.
    if (address != std::string_view::npos) entry.remove_prefix(address + 1);
  }
  return ParseHostAddress(entry);
}

}  // namespace

std::optional<std::string_view> FindInTpuEnv(std::string_view text, std::string_view key) {
  std::string_view found;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() == text.size() ? line.size() : line.size() + 1);
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && Trimmed(line.substr(0, colon)) == key)
      found = Unquoted(Trimmed(line.substr(colon + 1)));
  }
  if (found.empty()) return {};
  return found;
}

Result<std::vector<std::string>> ParseWorkerEndpoints(std::string_view text) {
  return ParseHostList(text, ParseEndpoint);
}

}  // namespace pipeline
