// The stages that change, drop, mix or pick records. Rules of each: stages/lines/NAME.md.
#pragma once

#include "dag/pipeline_file/stage_type.h"
#include "stages/lines/dictionary.h"

namespace pipeline {

StageType NormalizeType();
StageType FilterType();
StageType ExecType();

/// Reads the records of other stages through its named input `corpora` and gives them as one input.
StageType MixType();
StageType SampleType();

/// `places`: searched first for named dictionaries.
StageType SegmentWordsType(const DictionaryPlaces& places);

}  // namespace pipeline
