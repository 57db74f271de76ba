// Hard links that keep the contents of files while their first names are removed, and durable files.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace pipeline {

/// Links `from`/NAME as `to`/NAME for each name; copies where the file system has no links. kNotFound: a file
/// is gone.
Status LinkFiles(const std::string& from, const std::vector<std::string>& names, const std::string& to);

/// Returns once the bytes of the file, or the names in the directory, are on the disk.
Status SyncFile(const std::string& path);

}  // namespace pipeline
