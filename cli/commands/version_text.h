// The text of `pipe --version`.
#pragma once

#include <string>

namespace pipeline {

/// Returns a line each: "pipe 0.1.0"; the commit that the program was built from, "unknown" if it was built
/// outside a clone; the ABI of plugins; the libraries whose version is a part of recipes.
std::string VersionText();

}  // namespace pipeline
