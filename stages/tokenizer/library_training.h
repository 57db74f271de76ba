// A training by the SentencePiece library, in a child process.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "stages/tokenizer/tokenizer_training.h"
#include "stages/tokenizer/training_child.h"
#include "text/unigram/counted_words.h"
#include "text/unigram/pre_tokens.h"

namespace pipeline {

/// Bytes of memory for training on this much text, in both processes.
std::uint64_t LibraryTrainingMemory(const TrainingSettings& settings, std::uint64_t text_bytes,
                                    std::uint64_t lines);

class LibraryTraining final : public TokenizerTraining {
 public:
  static Result<std::unique_ptr<TokenizerTraining>> Start(const TrainingSettings& settings,
                                                          std::uint64_t text_bytes, TrainingMeans means);
  Status Add(std::string_view line, std::span<const std::uint32_t> cuts) override;
  Result<SentencePieceModel> Finish() override;

 private:
  LibraryTraining(const TrainingSettings& settings, TrainingMeans means);
  Status StartChild(bool huge);
  std::uint64_t NeededMemory() const;
  Status Explain(const Status& status);

  const TrainingSettings settings_;
  const TrainingMeans means_;
  std::unique_ptr<TrainingChild> child_;  // for distinct morphemes: from Finish on
  PreTokens pre_tokens_;
  CountedWords morphemes_;  // used if morphemes are the sentences
};

}  // namespace pipeline
