// Collects the snapshot before a run, for planning.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "dag/environment.h"
#include "dag/pipeline_file/graph.h"
#include "dag/plan/snapshot.h"

namespace pipeline {

/// Returns the digest and size of a source's bytes, by reading them or in another way.
using HashFile = std::function<Result<SourceFile>(const LocalInput& file)>;

/// Returns the files that match a pattern.
using FindFiles = std::function<Result<std::vector<LocalInput>>(const LocalInput& pattern)>;

/// Collects the sources (hashed unless a cache knows them), the published artifacts, and the last log lines
/// of each stage. `environment` outlives the snapshot.
Result<Snapshot> CollectSnapshot(const Graph& graph, const Environment& environment, const HashFile& hash,
                                 const FindFiles& find);

}  // namespace pipeline
