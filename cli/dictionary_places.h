// Where this program looks for dictionaries before it looks where the system keeps them.
#pragma once

#include "stages/dictionary.h"

namespace pipeline {

/// The folders of PIPE_DICTIONARIES, then those beside the program: stages/segment_words.md, 1.
DictionaryPlaces FindDictionaryPlaces();

}  // namespace pipeline
