// The stage that finds the morphemes of each line: stages/segment_words.md.
#pragma once

#include "spec/registry.h"
#include "stages/dictionary.h"

namespace pipeline {

/// `places`: searched first for named dictionaries.
StageType SegmentWordsType(const DictionaryPlaces& places);

}  // namespace pipeline
