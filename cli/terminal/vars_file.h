// A file of assignments: --vars.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/terminal/command.h"

namespace pipeline {

/// The assignments in `file`: a map in YAML of names, as in `vars:` or after --set, to texts and numbers. An
/// error begins with the file.
Result<Assignments> ReadVarsFile(const std::string& file);

}  // namespace pipeline
