// A training by our own trainer of unigram pieces, in this process.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "stages/tokenizer/tokenizer_training.h"
#include "stages/tokenizer/word_spill.h"
#include "text/character_class.h"
#include "text/regular_expression.h"
#include "text/unigram/word_counter.h"

namespace pipeline {

/// Bytes of memory for training on this much text, before its words are known.
std::uint64_t UnigramTrainingMemory(const TrainingSettings& settings, std::uint64_t text_bytes);

class UnigramTraining final : public TokenizerTraining {
 public:
  static Result<std::unique_ptr<TokenizerTraining>> Start(const TrainingSettings& settings,
                                                          TrainingMeans means);
  Status Add(std::string_view line, std::span<const std::uint32_t> cuts) override;
  Result<SentencePieceModel> Finish() override;

 private:
  UnigramTraining(const TrainingSettings& settings, TrainingMeans means,
                  std::optional<RegularExpression> pattern);
  Status CheckMemory();
  /// kResourceExhausted: a training on these words does not fit.
  Status CheckWords(const CountedWords& words) const;
  WordOutlet Outlet();
  void Spill(CountedWords& words);
  /// Notes the first failure of any thread.
  void Fail(Status why);
  Result<CountedWords> FrequentWords(const CountedWords& counted);
  Result<SentencePieceModel> Train(const CountedWords& counted);
  CountLine Counting();
  void AddBorders(std::string_view line, RegularExpression& pattern, std::vector<std::uint32_t>& cuts);
  Status failed() {
    const Lock lock(mutex_);
    return failed_;
  }

  const TrainingSettings settings_;
  const TrainingMeans means_;
  std::optional<CharacterClasses> classes_;   // if words end where the script changes
  std::optional<RegularExpression> pattern_;  // if words end where it matches
  Mutex mutex_;
  Status failed_ GUARDED_BY(mutex_);  // the pattern, on some line, or a file of the spill
  std::optional<WordSpill> spill_;    // if absent: all words stay in memory
  std::uint64_t occurrences_ = 0;     // of all words
  WordCounter counter_;
  std::uint64_t checked_memory_ = 0;  // of the counter, when it was last looked at
};

}  // namespace pipeline
