// New numbers for the ids of a dictionary: ids that text uses often get small ones, so that their costs lie
// together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "text/mecab/dictionary_file.h"

namespace pipeline {

/// By the old ids.
struct ContextNumbers {
  std::vector<std::uint16_t> left, right;
};

ContextNumbers NumbersByUse(const DictionaryFile& file);

}  // namespace pipeline
