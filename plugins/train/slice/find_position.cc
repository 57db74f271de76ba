#include "plugins/train/slice/find_position.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/str.h"
#include "plugins/train/slice/host_keys.h"

namespace pipeline {

namespace {

/// The device files of a TPU, as libtpu looks for them.
bool HasTpu() {
  std::error_code error;
  for (const char* device : {"/dev/accel0", "/dev/vfio/0", "/dev/vfio/devices"})
    if (std::filesystem::exists(device, error)) return true;
  return false;
}

}  // namespace

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
  Json answer;
  answer["host"] = position.host;
  answer["hosts"] = position.hosts;
  answer["leader"] = position.address_of_leader;
  answer["source"] = position.source;
  for (const std::string& address : position.addresses) answer["addresses"].Append(address);
  return answer;
}

HostPosition PositionFromJson(const Json& answer) {
  HostPosition position;
  position.host = static_cast<int>(answer["host"].AsInt());
  position.hosts = static_cast<int>(answer["hosts"].AsInt(1));
  position.address_of_leader = answer["leader"].AsString();
  position.source = answer["source"].AsString("none");
  if (answer["addresses"].is_array())
    for (const Json& address : answer["addresses"].AsArray())
      position.addresses.emplace_back(address.AsString());
  return position;
}

}  // namespace pipeline
