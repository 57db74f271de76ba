// Checks the head of a manifest for consistency: lineage, recipes, totals.
#pragma once

#include "dag/books/manifest.h"
#include "stages/verify/findings.h"

namespace pipeline {

/// Checks that each recipe in the lineage matches the members beside it, named inputs included, and that
/// the totals of kept partitions are their sums. A seal proves more; it is checked when the manifest is
/// read.
void VerifyHead(const Manifest& manifest, Findings& findings);

}  // namespace pipeline
