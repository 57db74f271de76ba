// Files that a person writes for the program.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/terminal/command.h"

namespace pipeline {

/// The text of the file. An error begins with the path; a file of more than 16 MiB is one.
Result<std::string> ReadTypedFile(const std::string& path);

/// The assignments in `file`, of --vars: a map in YAML of names, as in `vars:` or after --set, to texts and
/// numbers. An error begins with the file.
Result<Assignments> ReadVarsFile(const std::string& file);

}  // namespace pipeline
