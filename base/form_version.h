// The version of a form in which files are written.
#pragma once

#include <cstdint>
#include <string_view>

namespace pipeline {

/// For people: `pipe --version` and `pipe plugins`.
struct FormVersion {
  std::string_view name;     // "manifest"
  std::uint32_t newest = 0;  // of the versions that are written
};

}  // namespace pipeline
