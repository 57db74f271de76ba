// Finds the pieces of a unigram tokenizer from word counts. Rules: text/unigram/trainer.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "text/unigram/counted_words.h"

namespace pipeline {

/// Raised whenever the same words would give other pieces.
inline constexpr int kUnigramTrainerVersion = 1;

struct UnigramRules {
  std::size_t pieces = 0;                             // wanted number, without special pieces and bytes
  std::size_t other_pieces = 0;                       // special pieces and bytes, which messages add to them
  bool fewer_will_do = false;                         // accept fewer if the words give no more: a rough model
  bool as_many_as_there_are = false;                  // `pieces` is the most that are wanted
  double character_coverage = 1;                      // share of all characters that get pieces
  std::vector<std::string> required_characters = {};  // get pieces in any case
  std::vector<std::string> reserved_texts = {};  // no piece contains one: special and user-defined pieces
  std::size_t max_characters = 16;               // of a piece
  std::size_t seeds = 1'000'000;                 // pieces of several characters at the beginning
  double shrink_factor = 0.75;                   // share of the pieces that one round of pruning keeps
  int rounds_of_expectation = 2;                 // before each pruning
  std::size_t threads = 1;                       // without effect on the pieces
  std::uint64_t memory = 0;                      // bytes for the lattice; 0: no limit
  /// Called with the pieces that are removed and those to remove in all, by the calling thread. May be empty.
  std::function<void(std::uint64_t removed, std::uint64_t all)> progress = {};
};

struct UnigramPiece {
  std::string text;
  float score = 0;  // the logarithm of its share of a text
  bool operator==(const UnigramPiece&) const = default;
};

/// Bytes of memory for a training on these words, with them.
std::uint64_t UnigramMemory(std::uint64_t characters, std::uint64_t words, std::uint64_t words_memory);

/// Returns the pieces, those with the greatest scores first, then by their bytes. No piece crosses the end of
/// a word. Depends on the counts and rules alone. kFailedPrecondition: no text, too many characters, or too
/// few pieces; the message says why, and which numbers of pieces work: all of them from the characters to the
/// characters and seeds. kResourceExhausted: too many distinct words, or too little memory.
/// kCancelled: stopped.
Result<std::vector<UnigramPiece>> TrainUnigram(const CountedWords& words, const UnigramRules& rules,
                                               std::stop_token stop);

}  // namespace pipeline
