// Everything that a machine adds to a pipeline file and that affects the bytes of a stage or their location.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/digest.h"
#include "base/result.h"
#include "dag/pipeline_file/graph.h"
#include "dag/plan/snapshot.h"

namespace pipeline {

/// By stage: a digest of its configuration, of the versions of the program and its libraries, of the files
/// that no stage makes, such as a dictionary, and of the location where it publishes. A source is no such
/// file: where it was edited, the run is planned again. A stage that misses a file is absent.
using MachineFacts = std::map<std::string, Digest, std::less<>>;

/// kUnavailable: a file is out of reach now.
Result<MachineFacts> MachineFactsOf(const Graph& graph, const Snapshot& snapshot);

}  // namespace pipeline
