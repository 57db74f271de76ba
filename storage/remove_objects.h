// Removes many objects in less time than one after the other.
#pragma once

#include <span>

#include "base/status.h"
#include "storage/store.h"

namespace pipeline {

/// Removes `objects` as Store::RemoveAll does, but in any order: some in one go, others at the same time. OK
/// also for those that are not there or have another state.
Status RemoveObjects(Store& store, std::span<const ObjectInfo> objects);

}  // namespace pipeline
