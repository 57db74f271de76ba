// Finds the position of this machine in a training on several hosts, for pipe.hosts/1.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "plugins/native/services.h"
#include "plugins/train/hosts/discovery.h"
#include "plugins/train/hosts/host_position.h"

namespace pipeline {

/// The keys `hosts`, `host` and `coordinator` of the stage: CONTRACT.md, section 1. kInvalidArgument names
/// the key that is neither `auto` nor a value.
Result<HostKeys> ReadHostKeys(const Json& settings);

/// Reads the keys, the environment, and the metadata server if this machine has a TPU.
Result<HostPosition> FindPosition(const Json& settings, const HostEnvironment& environment,
                                  const PluginServices& call);

/// For a program that does not ask for the position, such as `pipe worker`. kInvalidArgument: this is one of
/// several hosts.
Status CheckAlone(const Json& settings, const HostEnvironment& environment, const PluginServices& call);

/// The answer of pipe.hosts/1, which the request of `run` brings back as `position`.
Json PositionToJson(const HostPosition& position);
HostPosition PositionFromJson(const Json& answer);

}  // namespace pipeline
