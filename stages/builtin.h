// Every stage that this program has.
#pragma once

#include "spec/registry.h"
#include "stages/dictionary.h"

namespace pipeline {

/// `dictionaries`: folders in which segment_words looks for its dictionaries first.
Registry BuiltinStages(const DictionaryPlaces& dictionaries = {});

}  // namespace pipeline
