// A store whose objects are also in a cache of this machine: each block of a remote object arrives once.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "storage/cache/object_cache.h"
#include "storage/forwarding_store.h"

namespace pipeline {

/// Reads what the cache has from there, and stores in it what arrives and what is written. Names, versions
/// and failures are those of `inner`: each Open asks it for the present version. OpenKnown asks for nothing;
/// a state that is gone is noticed at the first block that is not here. Files and writers may outlive the
/// store, not the cache. Objects without a version are not cached. `location` names `inner` among all stores
/// that use `cache`, which outlives the store.
std::unique_ptr<Store> NewCachedStore(std::shared_ptr<Store> inner, std::string location, ObjectCache& cache);

}  // namespace pipeline
