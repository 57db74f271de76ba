// Counted words after the normaliser of the tokenizer that will be trained on them.
#pragma once

#include <string>
#include <vector>

#include "text/sentencepiece/charsmap.h"
#include "text/unigram/counted_words.h"
#include "text/unigram/pre_tokens.h"

namespace pipeline {

/// Replaces text in each word by the rules of `charsmap`, but not in `symbols`, which no rule changes. A word
/// that gets spaces becomes its parts, counted as `starts` says.
CountedWords NormalizedWords(const CountedWords& words, const Charsmap& charsmap,
                             const std::vector<std::string>& symbols, WordStarts starts);

}  // namespace pipeline
