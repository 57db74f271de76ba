// Whether the splits of published shards feed a trainer: what every hand-off promises by its keys `hosts` and
// `eval_batch` (shards/shard_keys.h).
#pragma once

#include "dag/manifest.h"
#include "verify/findings.h"

namespace pipeline {

/// The manifest against its own configuration: no split is empty, train has a multiple of `hosts` shards, and
/// every other split at least `eval_batch` records.
void VerifySplits(const Manifest& manifest, Findings& findings);

}  // namespace pipeline
