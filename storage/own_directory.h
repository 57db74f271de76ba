// Directories at places where every user of the machine may write, such as /var/tmp: another user may have
// made one first, to read what is put into it or to hand in what is believed.
#pragma once

#include <string>

#include "base/result.h"

namespace pipeline {

/// Makes `path` for its owner alone (mode 0700), and what is missing above it. One that is there already must
/// be a directory, no link to one, that this user owns and no other user can write to: kPermissionDenied,
/// with what to do. Where the directory above is sticky, as /var/tmp is, it stays so.
Status MakeOwnDirectory(const std::string& path);

}  // namespace pipeline
