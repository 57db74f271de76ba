// Objects that runs left at a place: listed before a run writes there, and removed before its manifest.
// dag/place/place_names.md
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "dag/manifest.h"
#include "dag/place/place_names.h"
#include "dag/place/publishing.h"
#include "storage/store.h"

namespace pipeline {

/// Lists `planned`, and those of `there`, all objects at the place, that are of runs. kFailedPrecondition
/// where an object of `planned` lies there that no run wrote.
Status ListNames(const Publishing& by, Store& out, const std::vector<ObjectInfo>& there,
                 const std::vector<std::string>& planned, PlaceNames& names, std::stop_token stop);

/// Lists the objects of `manifest`, removes the other listed ones, and tells the name of each; tells also
/// which objects stay that no run wrote.
Status RemoveLeftovers(const Publishing& by, Store& out, const Manifest& manifest, PlaceNames& names,
                       std::stop_token stop);

}  // namespace pipeline
