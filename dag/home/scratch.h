// The scratch of a home: a work directory for files that one machine alone uses. It names its home, so that
// no run takes it for a work directory, and none a work directory for it.
#pragma once

#include <string>

#include "base/status.h"
#include "dag/books/work_dir.h"

namespace pipeline {

/// Returns `usual`; if that is the scratch of another home, a directory beside it that has a digest of
/// `location` in its name. So a pipeline file has any number of homes.
std::string ScratchFor(const std::string& location, const std::string& usual);

/// OK: `scratch` is the scratch of the home at `location`, or new or empty. kInvalidArgument: it is that of
/// another home, or a work directory. Writes nothing.
Status CheckScratch(const WorkDir& scratch, const std::string& location);
/// The same; and a new one names its home from now on.
Status ClaimScratch(const WorkDir& scratch, const std::string& location);
/// OK: `directory` is no scratch. kInvalidArgument: it is one; the message says how its runs are called.
Status CheckNoScratch(const WorkDir& directory);

}  // namespace pipeline
