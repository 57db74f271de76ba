#include "plugins/train/slice/host_keys.h"

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "base/str.h"

namespace pipeline {

namespace {

constexpr std::string_view kAuto = "auto";

/// Absent: `auto`, or no value.
Result<std::optional<std::int64_t>> NumberOf(const Json& settings, const char* key) {
  const std::string_view text = settings[key].AsString(kAuto);
  if (text == kAuto) return std::optional<std::int64_t>();
  std::int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0)
    return Status(Code::kInvalidArgument,
                  StrCat(key, ": must be `auto` or a whole number, and is \"", text, "\""));
  return std::optional(number);
}

}  // namespace

Result<HostKeys> ReadHostKeys(const Json& settings) {
  HostKeys keys;
  ASSIGN_OR_RETURN(keys.hosts, NumberOf(settings, "hosts"));
  ASSIGN_OR_RETURN(keys.host, NumberOf(settings, "host"));
  if (const std::string_view address = settings["coordinator"].AsString(kAuto); address != kAuto)
    keys.coordinator = std::string(address);
  return keys;
}

}  // namespace pipeline
