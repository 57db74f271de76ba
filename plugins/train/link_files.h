// Hard links that keep the contents of files while their first names are removed, removed trees.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace pipeline {

/// Links `from`/NAME as `to`/NAME for each name; copies where the file system has no links. kNotFound: a file
/// is gone.
Status LinkFiles(const std::string& from, const std::vector<std::string>& names, const std::string& to);

/// Removes a file, or a directory with all below it; OK also if it does not exist.
Status RemoveAll(const std::string& path);

}  // namespace pipeline
