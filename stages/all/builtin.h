// All built-in stages.
#pragma once

#include "dag/pipeline_file/registry.h"
#include "stages/lines/dictionary.h"

namespace pipeline {

/// `dictionaries`: folders that segment_words searches first.
Registry BuiltinStages(const DictionaryPlaces& dictionaries = {});

}  // namespace pipeline
