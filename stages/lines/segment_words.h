// The stage that finds the morphemes of each line: stages/lines/segment_words.md.
#pragma once

#include "dag/pipeline_file/stage_type.h"
#include "stages/lines/dictionary.h"

namespace pipeline {

/// `places`: searched first for named dictionaries.
StageType SegmentWordsType(const DictionaryPlaces& places);

}  // namespace pipeline
