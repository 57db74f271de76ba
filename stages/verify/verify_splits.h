// Checks that the splits of published shards suit a trainer, as every export format promises by its keys
// `hosts` and `eval_batch` (stages/shards/shard_keys.h).
#pragma once

#include "dag/books/manifest.h"
#include "stages/verify/findings.h"

namespace pipeline {

/// Checks the manifest against its own configuration: no split is empty, train has a multiple of `hosts`
/// shards, and every other split has at least `eval_batch` records.
void VerifySplits(const Manifest& manifest, Findings& findings);

}  // namespace pipeline
