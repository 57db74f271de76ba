// Locations of the source tree and of the built programs that tests use.
#pragma once

#include <string>

namespace pipeline {

/// The root of the sources, an absolute path.
std::string SourceDir();
/// The built program `pipe`.
std::string BuiltProgram();
/// The directory of the built plugins.
std::string BuiltPlugins();
/// The C compiler of this build, for plugins that a test compiles.
std::string CCompiler();

}  // namespace pipeline
