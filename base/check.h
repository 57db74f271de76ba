// Conditions that hold unless the program has a bug. They are checked in every build: a violation ends the
// program with a message, before wrong data is written.
#pragma once

#include <string_view>

namespace pipeline {

/// Writes "error: FILE:LINE: what [this is a bug]" to standard error and aborts.
[[noreturn]] void EndOnBug(const char* file, int line, std::string_view what);

}  // namespace pipeline

#define CHECK(condition, what) ((condition) ? void() : ::pipeline::EndOnBug(__FILE__, __LINE__, what))
