#include "plugins/train/slice/find_position.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "base/str.h"
#include "base/words.h"

namespace pipeline {

namespace {

constexpr std::string_view kAuto = "auto";

/// Absent: `auto`, or no value.
Result<std::optional<std::int64_t>> NumberOf(const Json& settings, const char* key) {
  const std::string_view text = settings[key].AsString(kAuto);
  if (text == kAuto) return std::optional<std::int64_t>();
  const auto number = ParseNumber<std::int64_t>(text);
  if (number && *number >= 0) return number;
  return Status(Code::kInvalidArgument,
                StrCat(key, ": must be `auto` or a whole number, and is \"", text, "\""));
}

/// The device files of a TPU, as libtpu looks for them.
bool HasTpu() {
  std::error_code error;
  for (const char* device : {"/dev/accel0", "/dev/vfio/0", "/dev/vfio/devices"})
    if (std::filesystem::exists(device, error)) return true;
  return false;
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

Result<HostPosition> FindPosition(const Json& settings, const HostEnvironment& environment,
                                  const PluginServices& call) {
  ASSIGN_OR_RETURN(const HostKeys keys, ReadHostKeys(settings));
  const HostMetadata metadata{.present = HasTpu() || environment("GCE_METADATA_HOST").has_value(),
                              .ask = [&call](std::string_view path) { return call.Metadata(path); }};
  return FindHost(keys, environment, metadata);
}

Status CheckAlone(const Json& settings, const HostEnvironment& environment, const PluginServices& call) {
  ASSIGN_OR_RETURN(const HostPosition position, FindPosition(settings, environment, call));
  if (position.hosts == 1) return {};
  return Status(Code::kInvalidArgument,
                StrCat("this is host ", position.host, " of ", position.hosts, " (", position.source,
                       "), and hosts train together by `pipe run` on each of them; run that, or set "
                       "`hosts: 1` to train on this host alone"));
}

Json PositionToJson(const HostPosition& position) {
  Json answer = Json::Object{{"host", position.host},
                             {"hosts", position.hosts},
                             {"leader", position.address_of_leader},
                             {"source", position.source}};
  for (const std::string& address : position.addresses) answer["addresses"].Append(address);
  return answer;
}

HostPosition PositionFromJson(const Json& answer) {
  HostPosition position;
  position.host = static_cast<int>(answer["host"].AsInt());
  position.hosts = static_cast<int>(answer["hosts"].AsInt(1));
  position.address_of_leader = answer["leader"].AsString();
  position.source = answer["source"].AsString("none");
  for (const Json& address : answer["addresses"].AsArray())
    position.addresses.emplace_back(address.AsString());
  return position;
}

}  // namespace pipeline
