// Facts about the file system that a path is on, or would be once it is made.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace pipeline {

/// Bytes that this user may still write there.
Result<std::uint64_t> FreeBytes(const std::string& path);

/// True when hard links and renames between the two can work.
Result<bool> SameFileSystem(const std::string& a, const std::string& b);

}  // namespace pipeline
