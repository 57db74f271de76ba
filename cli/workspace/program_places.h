// The place of this program, and the directories where it searches for its parts.
#pragma once

#include <string>
#include <vector>

#include "stages/lines/dictionary.h"

namespace pipeline {

/// The path of the running program. Empty: the system does not tell.
std::string ProgramPath();

/// The directories that an environment variable names, with colons between them.
std::vector<std::string> DirectoriesNamedBy(const char* variable);

/// The directories that this program searches for dictionaries before those of the system: the folders of
/// PIPE_DICTIONARIES, then those beside the program: stages/lines/segment_words.md, 1.
DictionaryPlaces FindDictionaryPlaces();

/// The place of a pipeline file as a person types it: `file` itself, or, where nothing is there, the
/// program's own file of this name: pipelines/NAME.yaml of the prefix or of the clone that the program is in.
std::string FindPipelineFile(const std::string& file);

}  // namespace pipeline
