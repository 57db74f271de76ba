// The --set of the last run, for commands on its work directory that get none.
#pragma once

#include "base/result.h"
#include "cli/terminal/command.h"
#include "cli/workspace/pipeline_words.h"

namespace pipeline {

/// If `call` has no --set and no --vars: gives `options` those of the last run in its work directory, says
/// so, and returns `call` with these words, for the log. Otherwise `call` as it is; not `needs_all`: says so
/// if the last run had others. `needs_all`: false: a value with a secret, which the log does not have, is
/// only missed. kFailedPrecondition names the --set that are needed; another status: the log or a file of
/// --vars cannot be read.
Result<Call> WithLastSettings(const Call& call, PipelineOptions& options, bool needs_all);

}  // namespace pipeline
