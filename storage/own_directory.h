// Directories below a path where every user of the machine may write, such as /var/tmp: another user may
// have created one first, to read data that is put there or to plant false data.
#pragma once

#include <string>

#include "base/result.h"

namespace pipeline {

/// Creates `path` with mode 0700, and all missing directories above it. An existing `path` must be a
/// directory, not a link to one, that this user owns and no other user can write to; otherwise
/// kPermissionDenied with advice. If the directory above is sticky, like /var/tmp, this stays true.
Status MakeOwnDirectory(const std::string& path);

}  // namespace pipeline
