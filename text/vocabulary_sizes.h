// The sizes of a vocabulary that a text is enough for, and the refusal of another one.
#pragma once

#include <cstddef>

#include "base/status.h"

namespace pipeline {

/// Every size from `least` to `most` works; special pieces count.
struct VocabularySizes {
  std::size_t least;
  std::size_t most;
  bool contains(std::size_t size) const { return least <= size && size <= most; }
};

/// The most pieces of `vocab_size: auto`.
inline constexpr std::size_t kMostOfAuto = 32'000;

/// kFailedPrecondition, with the sizes that work. `is_auto`: `wanted` is the most of `auto`.
Status RefuseVocabularySize(std::size_t wanted, bool is_auto, const VocabularySizes& sizes);

}  // namespace pipeline
