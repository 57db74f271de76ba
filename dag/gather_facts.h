// Looking at the world before a run, so that planning needs no I/O.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "dag/environment.h"
#include "dag/plan.h"
#include "spec/graph.h"

namespace pipeline {

/// The digest of a local file's bytes and its size, however they are found out.
using HashFile = std::function<Result<SourceFile>(const LocalInput& file)>;

/// The files that a pattern stands for.
using FindFiles = std::function<Result<std::vector<LocalInput>>(const LocalInput& pattern)>;

/// Sources (hashed where no cache knows them), what is published, and what the log last said of each
/// stage. `environment` outlives the facts.
Result<Facts> GatherFacts(const Graph& graph, const Environment& environment, const HashFile& hash,
                          const FindFiles& find);

}  // namespace pipeline
