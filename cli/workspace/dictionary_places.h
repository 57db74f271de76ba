// The directories that this program searches for dictionaries before those of the system.
#pragma once

#include "stages/lines/dictionary.h"

namespace pipeline {

/// The folders of PIPE_DICTIONARIES, then those beside the program: stages/lines/segment_words.md, 1.
DictionaryPlaces FindDictionaryPlaces();

}  // namespace pipeline
