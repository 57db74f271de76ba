// Finds how many hosts train together and which of them this is. hosts.md, section 2, has the order of the
// sources.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "plugins/train/hosts/host_position.h"

namespace pipeline {

/// Keys of the stage; absent: `auto`.
struct HostKeys {
  std::optional<std::int64_t> hosts;
  std::optional<std::int64_t> host;
  std::optional<std::string> coordinator;  // address of host 0, without a port: the leader chooses that
};

/// A variable of the environment; absent: it is not set.
using HostEnvironment = std::function<std::optional<std::string>(const char* name)>;

struct HostMetadata {
  /// This machine has a TPU, or GCE_METADATA_HOST is set. If false, nothing is asked: on another machine the
  /// question would cost time and find no server.
  bool present = false;
  /// Asks the metadata server, e.g. for "instance/attributes/agent-worker-number", and bounds its own time.
  /// Absent: there is no such attribute, or no server. A failure is any other answer, and ends the search.
  std::function<Result<std::optional<std::string>>(std::string_view path)> ask;
};

/// Checks the keys by themselves, on any machine. Errors are as of FindHost.
Status CheckHostKeys(const HostKeys& keys);

/// The keys override the sources; a source whose answer would not count is not read, so a key helps where a
/// source is wrong. With `hosts` and `host` nothing is read at all. kInvalidArgument: a value is malformed or
/// contradicts another; its one line names the value, its source and the remedy. Other codes are those of the
/// metadata server.
Result<HostPosition> FindHost(const HostKeys& keys, const HostEnvironment& environment,
                              const HostMetadata& metadata);

}  // namespace pipeline
