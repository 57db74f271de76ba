// Leftovers of runs at a location: they are listed before a run writes there, and removed before its
// manifest. Rules: dag/location/location_names.md
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "dag/books/manifest.h"
#include "dag/location/location_names.h"
#include "dag/location/publishing.h"
#include "storage/store.h"

namespace pipeline {

/// Adds to `names`: `planned`, and those of `there` (all objects at the location) that runs wrote.
/// kFailedPrecondition: an object of `planned` is there that no run wrote.
Status ListNames(const Publishing& by, Store& out, const std::vector<ObjectInfo>& there,
                 const std::vector<std::string>& planned, LocationNames& names, std::stop_token stop);

/// Adds the objects of `manifest` to `names`, and removes the other listed objects. Reports each removed
/// object, and the objects that stay because no run wrote them.
Status RemoveLeftovers(const Publishing& by, Store& out, const Manifest& manifest, LocationNames& names,
                       std::stop_token stop);

}  // namespace pipeline
