// Trains one WordPiece vocabulary, from lines to the finished vocab.txt, in this process. Rules:
// stages/tokenizer/train_tokenizer.md.
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "stages/tokenizer/tokenizer_report.h"
#include "stages/tokenizer/tokenizer_training.h"
#include "text/bert_words.h"
#include "text/wordpiece.h"
#include "text/wordpiece_trainer.h"

namespace pipeline {

/// The value of `model`.
inline constexpr std::string_view kWordPieceModel = "wordpiece";

/// Bytes of memory for training on this much text.
std::uint64_t WordPieceMemory(const TrainingSettings& settings, std::uint64_t text_bytes);

/// One thread at a time.
class WordPieceTraining {
 public:
  /// `memory`: kResourceExhausted once the text needs more; 0: no limit.
  WordPieceTraining(const TrainingSettings& settings, std::uint64_t memory)
      : settings_(settings), memory_(memory) {}

  /// `cuts` is used by Boundaries::kCuts.
  Status Add(std::string_view line, std::span<const std::uint32_t> cuts);
  /// kFailedPrecondition if the text has too little for this many pieces, with a size that works.
  Result<WordPieceVocabulary> Finish(std::stop_token stop) const;

  BertWordKind kind() const {
    return settings_.boundaries == Boundaries::kCuts ? BertWordKind::kMorphemes : BertWordKind::kText;
  }
  const TrainingCounts& counts() const { return counts_; }
  std::uint64_t words() const { return words_.total(); }
  std::uint64_t distinct_words() const { return words_.distinct(); }

 private:
  const TrainingSettings settings_;
  const std::uint64_t memory_;
  TrainingCounts counts_;
  WordCounts words_;
  BertWords finder_;
};

/// As MeasureTokenizer, without the values that only SentencePiece has.
Json MeasureWordPieces(const WordPieceVocabulary& vocabulary, BertWordKind kind, const HeldLines& held);

}  // namespace pipeline
