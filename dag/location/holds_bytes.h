// Compares an object with its recorded description, over all its bytes.
#pragma once

#include <stop_token>

#include "base/result.h"
#include "dag/books/run_log.h"
#include "storage/store.h"

namespace pipeline {

/// False: the object is absent or different. Uses the checksum of the store if it keeps one; otherwise
/// reads the object.
Result<bool> HoldsBytes(Store& store, const StoredObject& object, std::stop_token stop);

}  // namespace pipeline
