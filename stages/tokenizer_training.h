// One training of a SentencePiece model, from lines to the finished model.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.h"
#include "formats/sentencepiece_model.h"
#include "stages/tokenizer_layout.h"
#include "stages/training_child.h"
#include "text/tokenizer_corpus.h"

namespace pipeline {

/// What a sentence is for the trainer, and so what no piece crosses.
enum class Boundaries : std::uint8_t { kNone, kSpaces, kCuts, kCutsInWords };

/// "none", "spaces", "cuts", "cuts_in_words".
std::string_view BoundariesName(Boundaries boundaries);
std::optional<Boundaries> BoundariesNamed(std::string_view name);
/// Whether the sentences of the trainer are distinct morphemes.
constexpr bool OfDistinctMorphemes(Boundaries boundaries) { return boundaries >= Boundaries::kCuts; }

struct TrainingSettings {
  const TokenizerLayout* layout = nullptr;
  Boundaries boundaries = Boundaries::kNone;
  std::string model = "unigram";  // or "bpe", "word", "char"
  std::int64_t vocab_size = 0;    // at most, where `fewer_will_do`
  bool fewer_will_do = false;
  bool byte_fallback = true;
  double character_coverage = 0.9995;
  std::int64_t max_piece_length = 16;  // in characters
};

/// Bytes of memory that training on so much text takes, here and in the child.
std::uint64_t TrainingMemory(const TrainingSettings& settings, std::uint64_t text_bytes, std::uint64_t lines);

/// One thread, which lives until Finish has returned. Destroyed earlier, the training is killed.
class TokenizerTraining {
 public:
  struct Counts {
    std::uint64_t lines = 0;
    std::uint64_t bytes = 0;
    std::uint64_t sentences = 0;           // that the trainer got
    std::uint64_t morphemes = 0;           // all of them, where each distinct one is a sentence
    std::uint64_t cuts_in_long_lines = 0;  // and at reserved marks
  };

  /// `program`: path of `pipe`. `text_bytes`: at least what will be added. `memory`: kResourceExhausted once
  /// the text is found to need more; 0 for no limit.
  static Result<std::unique_ptr<TokenizerTraining>> Start(std::string program,
                                                          const TrainingSettings& settings,
                                                          std::uint64_t text_bytes, std::uint64_t memory,
                                                          std::stop_token stop);
  /// `cuts` is empty for kNone.
  Status Add(std::string_view line, std::span<const std::uint32_t> cuts);
  /// The model with the layout's spacing and without what the machine left in it; without sentinels.
  /// kFailedPrecondition where the text does not give so many pieces, saying what would do.
  Result<SentencePieceModel> Finish();

  const Counts& counts() const { return counts_; }

 private:
  TokenizerTraining(std::string program, const TrainingSettings& settings, std::uint64_t memory,
                    std::stop_token stop);
  Status StartChild(bool huge);
  Status CheckMemory() const;
  Status Explain(const Status& status) const;

  std::string program_;
  TrainingSettings settings_;
  std::uint64_t memory_;
  std::stop_token stop_;
  std::unique_ptr<TrainingChild> child_;  // of distinct morphemes from Finish on
  MorphemeCounts morphemes_;              // where those are the sentences
  Counts counts_;
};

}  // namespace pipeline
