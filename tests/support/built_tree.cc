#include "tests/support/built_tree.h"

namespace pipeline {

std::string SourceDir() { return PIPE_SOURCE_DIR; }

std::string BuiltProgram() { return PIPE_PROGRAM; }

std::string BuiltPlugins() { return PIPE_PLUGIN_DIR; }

std::string CCompiler() { return PIPE_C_COMPILER; }

}  // namespace pipeline
