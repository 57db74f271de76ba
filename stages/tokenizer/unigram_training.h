// A training by our own trainer of unigram pieces, in this process.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stages/tokenizer/tokenizer_training.h"
#include "text/sentencepiece/charsmap.h"
#include "text/unigram/counted_words.h"
#include "text/unigram/pre_tokens.h"

namespace pipeline {

/// Replaces text in each word by the rules of `charsmap`, but not in `symbols`, which no rule changes. A word
/// that gets spaces becomes its parts, counted as `starts` says.
CountedWords NormalizedWords(const CountedWords& words, const Charsmap& charsmap,
                             const std::vector<std::string>& symbols, WordStarts starts);

/// Distinct words, summed up by the number of times that they occur.
class WordTally {
 public:
  void Add(std::string_view word, std::uint64_t count);

  /// All occurrences of all words, at most 2^64 - 1.
  std::uint64_t total() const { return total_; }
  /// Bytes for a training on the words that occur `least` times or more.
  std::uint64_t MemoryFrom(std::uint64_t least) const;
  /// Returns the least number such that the words that occur so often fit in `memory` bytes; 0: there is
  /// none.
  std::uint64_t LeastThatFits(std::uint64_t memory) const;

 private:
  struct Words {
    std::uint64_t distinct = 0, characters = 0, bytes = 0;
    void Add(const Words& other);
    std::uint64_t Memory() const;
  };
  std::map<std::uint64_t, Words> by_count_;
  std::uint64_t total_ = 0;
};

/// Bytes for a training on such words, and for the tables of characters. `held`: bytes that hold the words.
std::uint64_t WordsMemory(std::uint64_t characters, std::uint64_t distinct, std::uint64_t held);

/// Bytes of memory for training on this much text, before its words are known.
std::uint64_t UnigramTrainingMemory(const TrainingSettings& settings, std::uint64_t text_bytes);

Result<std::unique_ptr<TokenizerTraining>> StartUnigramTraining(const TrainingSettings& settings,
                                                                TrainingMeans means);

}  // namespace pipeline
