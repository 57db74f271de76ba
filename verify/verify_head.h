// The head of a manifest held against itself and against what it names: lineage, recipes, totals.
#pragma once

#include "dag/manifest.h"
#include "verify/findings.h"

namespace pipeline {

/// Each recipe of the lineage is that of the members beside it, ports included; of kept partitions the totals
/// are the sums. A seal says more, and is held when the manifest is read.
void VerifyHead(const Manifest& manifest, Findings& findings);

}  // namespace pipeline
