// The file system of a path; the path may not exist yet.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace pipeline {

/// Number of bytes that this user may still write there.
Result<std::uint64_t> FreeBytes(const std::string& path);

/// True if hard links and renames between the two paths can work.
Result<bool> SameFileSystem(const std::string& a, const std::string& b);

}  // namespace pipeline
