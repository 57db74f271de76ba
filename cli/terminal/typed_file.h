// A file that a person writes for the program.
#pragma once

#include <string>

#include "base/result.h"

namespace pipeline {

/// The text of the file. An error begins with the path; a file of more than 16 MiB is one.
Result<std::string> ReadTypedFile(const std::string& path);

}  // namespace pipeline
