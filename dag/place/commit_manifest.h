// The last write of a publication. dag/place/lease.md
#pragma once

#include <stop_token>

#include "base/result.h"
#include "dag/manifest.h"
#include "dag/place/publishing.h"
#include "storage/store.h"

namespace pipeline {

/// kFailedPrecondition where a manifest of another recipe lies there that was not there when the run was
/// planned.
Status CheckNotPublished(const Publishing& by, Store& out, std::stop_token stop);

/// Replaces what was there, and what a run left that had lost the place; kFailedPrecondition where another
/// recipe was published meanwhile and all that it names is there.
Status CommitManifest(const Publishing& by, Store& out, const Manifest& manifest, std::stop_token stop);

}  // namespace pipeline
