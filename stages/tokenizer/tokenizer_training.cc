#include "stages/tokenizer/tokenizer_training.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/str.h"
#include "stages/tokenizer/library_training.h"
#include "stages/tokenizer/unigram_training.h"

namespace pipeline {

namespace {

constexpr std::array<std::string_view, 5> kBoundariesNames = {"none", "spaces", "cuts", "cuts_in_words",
                                                              "scripts"};

/// Returns an estimate of the most text that can be trained on in `memory` bytes.
std::uint64_t TextThatFits(const TrainingSettings& settings, std::uint64_t memory) {
  std::uint64_t fits = 0;
  for (std::uint64_t step = std::uint64_t{1} << 50; step > 0; step >>= 1)
    if (TrainingMemory(settings, fits + step, (fits + step) / 100) <= memory) fits += step;
  return fits;
}

}  // namespace

std::string_view BoundariesName(Boundaries boundaries) {
  return kBoundariesNames[static_cast<std::size_t>(boundaries)];
}

std::optional<Boundaries> BoundariesNamed(std::string_view name) {
  const auto found = std::find(kBoundariesNames.begin(), kBoundariesNames.end(), name);
  if (found == kBoundariesNames.end()) return std::nullopt;
  return static_cast<Boundaries>(found - kBoundariesNames.begin());
}

WordStarts WordStartsOf(const TrainingSettings& settings) {
  if (settings.boundaries == Boundaries::kCuts) return WordStarts::kDropped;
  if (settings.boundaries == Boundaries::kSpaces) return WordStarts::kEverywhere;
  return settings.layout->keeps_text ? WordStarts::kBehindSpace : WordStarts::kBehindSpaceOrLine;
}

std::uint64_t TrainingMemory(const TrainingSettings& settings, std::uint64_t text_bytes,
                             std::uint64_t lines) {
  return settings.by_library ? LibraryTrainingMemory(settings, text_bytes, lines)
                             : UnigramTrainingMemory(settings, text_bytes);
}

Status CheckTrainingMemory(const TrainingSettings& settings, const TrainingCounts& counts,
                           std::uint64_t needed, std::uint64_t memory, std::uint64_t min_count) {
  if (memory == 0 || needed <= memory) return {};
  return Status(
      Code::kResourceExhausted,
      StrCat("the text so far (", HumanBytes(counts.bytes), ") needs ", HumanBytes(needed),
             " of memory to train on, of ", HumanBytes(memory), "; raise limits.memory",
             min_count > 1 ? StrCat(", write `min_count: ", min_count, "` to ignore words that are rarer, or")
                           : ", or",
             " train on a sample of at most ", HumanBytes(TextThatFits(settings, memory))));
}

Result<std::unique_ptr<TokenizerTraining>> StartTraining(const TrainingSettings& settings,
                                                         std::uint64_t text_bytes, TrainingMeans means) {
  if (settings.by_library) return StartLibraryTraining(settings, text_bytes, std::move(means));
  return StartUnigramTraining(settings, std::move(means));
}

}  // namespace pipeline
