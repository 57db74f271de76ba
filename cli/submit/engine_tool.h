// Calls programs of an engine, and writes the files that they read.
#pragma once

#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pipeline {

/// Runs a program to its end and returns its output. Errors as in Engine; a code other than 0 is
/// kInvalidArgument, with the program's own message in one line.
Result<std::string> CallTool(const std::vector<std::string>& argv, const std::stop_token& stop);

/// Writes or replaces a small file.
Status WriteEngineFile(const std::string& path, std::string_view text);

/// A command for a POSIX shell that has exactly these words.
std::string ShellWords(const std::vector<std::string>& argv);

}  // namespace pipeline
