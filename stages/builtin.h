// All built-in stages.
#pragma once

#include "spec/registry.h"
#include "stages/dictionary.h"

namespace pipeline {

/// `dictionaries`: folders that segment_words searches first.
Registry BuiltinStages(const DictionaryPlaces& dictionaries = {});

}  // namespace pipeline
