// Whether an object is the one that was written down, by all its bytes.
#pragma once

#include <stop_token>

#include "base/result.h"
#include "dag/run_log.h"
#include "storage/store.h"

namespace pipeline {

/// False where it is absent or another one. By the checksum of the place where that keeps one; else reads it.
Result<bool> HoldsBytes(Store& store, const StoredObject& object, std::stop_token stop);

}  // namespace pipeline
