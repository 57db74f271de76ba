// Removes a location at which an earlier run of the same work directory left nothing but its own marks.
#pragma once

#include <string>

#include "base/result.h"
#include "dag/location/lease.h"

namespace pipeline {

/// Removes the directory `path`, if all files in it are the program's own, below `.pipe/`, and no other work
/// directory than `terms.holder` has marked or leased it. The caller holds the lock of its work directory.
/// False: it stays, also if a run holds its lock, or a file belongs to another user.
Result<bool> RemoveIfEmpty(const std::string& path, const LeaseTerms& terms);

}  // namespace pipeline
