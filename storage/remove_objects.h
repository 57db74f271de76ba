// Removes many objects in less time than one after the other.
#pragma once

#include <span>
#include <string>

#include "base/status.h"
#include "storage/store.h"

namespace pipeline {

/// Removes all of `names`, in any order: some in one go, others at the same time. OK also for those that are
/// not there.
Status RemoveObjects(Store& store, std::span<const std::string> names);

}  // namespace pipeline
