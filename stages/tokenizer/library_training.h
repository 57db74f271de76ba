// A training by the SentencePiece library, in a child process.
#pragma once

#include <cstdint>
#include <memory>

#include "stages/tokenizer/tokenizer_training.h"
#include "text/tokenizer_corpus.h"
#include "text/unigram/counted_words.h"

namespace pipeline {

/// Passes each word (PreTokens) with its count, sorted, as the library's lines "TEXT\tCOUNT". The library
/// learns a text as a piece only if different characters follow it, so a morpheme that always ends a sentence
/// would be lost. Therefore one occurrence of each morpheme has a space behind it, unless there is only one.
/// A space takes the place of U+2581, the mark of the beginning of a word.
Status FeedMorphemes(const CountedWords& words, const TakeSentence& take);

/// Bytes of memory for training on this much text, in both processes.
std::uint64_t LibraryTrainingMemory(const TrainingSettings& settings, std::uint64_t text_bytes,
                                    std::uint64_t lines);

/// `text_bytes`: about so much text will come.
Result<std::unique_ptr<TokenizerTraining>> StartLibraryTraining(const TrainingSettings& settings,
                                                                std::uint64_t text_bytes,
                                                                TrainingMeans means);

}  // namespace pipeline
