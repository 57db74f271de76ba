// Commits the manifest of an artifact. Rules: dag/location/lease.md
#pragma once

#include <stop_token>

#include "base/result.h"
#include "dag/books/manifest.h"
#include "dag/location/publishing.h"
#include "storage/store.h"

namespace pipeline {

/// kFailedPrecondition: a manifest of another recipe is there that was not there when the run was planned.
Status CheckNotPublished(const Publishing& by, Store& out, std::stop_token stop);

/// Replaces the present manifest, also one from a run that had lost the location. kFailedPrecondition:
/// another recipe was published since planning, and all objects that it names exist.
Status CommitManifest(const Publishing& by, Store& out, const Manifest& manifest, std::stop_token stop);

}  // namespace pipeline
