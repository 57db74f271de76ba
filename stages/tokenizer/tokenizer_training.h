// Trains one SentencePiece model, from lines to the finished model.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/sentencepiece_model.h"
#include "stages/tokenizer/tokenizer_layout.h"
#include "stages/tokenizer/training_child.h"
#include "text/tokenizer_corpus.h"

namespace pipeline {

/// The borders of the trainer's sentences; no piece crosses one.
enum class Boundaries : std::uint8_t { kNone, kSpaces, kCuts, kCutsInWords };

/// "none", "spaces", "cuts", "cuts_in_words".
std::string_view BoundariesName(Boundaries boundaries);
std::optional<Boundaries> BoundariesNamed(std::string_view name);
/// True if the trainer's sentences are distinct morphemes.
constexpr bool OfDistinctMorphemes(Boundaries boundaries) { return boundaries >= Boundaries::kCuts; }

struct TrainingSettings {
  const TokenizerLayout* layout = nullptr;
  Boundaries boundaries = Boundaries::kNone;
  std::string model = "unigram";  // or "bpe", "word", "char"
  std::int64_t vocab_size = 0;    // a maximum if `fewer_will_do`
  bool fewer_will_do = false;
  bool byte_fallback = true;
  double character_coverage = 0.9995;
  std::int64_t max_piece_length = 16;  // in characters
  std::vector<std::string> symbols;    // follow the symbols of the layout
};

/// Bytes of memory for training on this much text, in this process and the child.
std::uint64_t TrainingMemory(const TrainingSettings& settings, std::uint64_t text_bytes, std::uint64_t lines);

/// One thread, which must live until Finish has returned. Destroying it earlier kills the training.
class TokenizerTraining {
 public:
  struct Counts {
    std::uint64_t lines = 0;
    std::uint64_t bytes = 0;
    std::uint64_t sentences = 0;           // given to the trainer
    std::uint64_t morphemes = 0;           // all occurrences, if each distinct morpheme is a sentence
    std::uint64_t cuts_in_long_lines = 0;  // including cuts at reserved marks
  };

  /// `program`: path of `pipe`. `text_bytes`: upper bound of the text to add. `memory`: kResourceExhausted
  /// once the text needs more; 0: no limit.
  static Result<std::unique_ptr<TokenizerTraining>> Start(std::string program,
                                                          const TrainingSettings& settings,
                                                          std::uint64_t text_bytes, std::uint64_t memory,
                                                          std::stop_token stop);
  /// `cuts` is empty for kNone.
  Status Add(std::string_view line, std::span<const std::uint32_t> cuts);
  /// Returns the model with the layout's spacing, without machine-specific data and without sentinels.
  /// kFailedPrecondition if the text has too little for this many pieces, with a size that works.
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
  std::unique_ptr<TrainingChild> child_;  // for distinct morphemes: from Finish on
  MorphemeCounts morphemes_;              // used if morphemes are the sentences
  Counts counts_;
};

}  // namespace pipeline
