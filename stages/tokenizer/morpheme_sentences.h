// Distinct morphemes in the form that the library's trainer reads.
#pragma once

#include "text/tokenizer_corpus.h"
#include "text/unigram/counted_words.h"

namespace pipeline {

/// Passes each word (PreTokens) with its count, sorted, as the library's lines "TEXT\tCOUNT". The library
/// learns a text as a piece only if different characters follow it, so a morpheme that always ends a sentence
/// would be lost. Therefore one occurrence of each morpheme has a space behind it, unless there is only one.
/// A space takes the place of U+2581, the mark of the beginning of a word.
Status FeedMorphemes(const CountedWords& words, const TakeSentence& take);

}  // namespace pipeline
