#include "stages/tokenizer/unigram_training.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/str.h"
#include "formats/sentencepiece_builder.h"
#include "stages/tokenizer/normalized_words.h"
#include "text/sentencepiece/sentencepiece_handle.h"
#include "text/unicode.h"
#include "text/unigram/unigram_trainer.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::size_t kRoughSeeds = 8;  // for each piece
constexpr double kRoughShrink = 0.5;
constexpr std::string_view kNormalizer = "nmt_nfkc";  // of layouts that do not keep the text

bool IsByScript(Boundaries boundaries) {
  return boundaries == Boundaries::kNone || boundaries == Boundaries::kScripts;
}

/// Returns the memory for these words, and for the tables of characters.
std::uint64_t MemoryFor(const CountedWords& words) {
  return 32 * kMiB + UnigramMemory(words.characters(), words.distinct(), words.memory());
}

/// Returns everything of the model but its trained pieces.
Result<UnigramModelParts> PartsOf(const TrainingSettings& settings) {
  const TokenizerLayout& layout = *settings.layout;
  UnigramModelParts parts;
  parts.ids = {.pad = layout.pad, .bos = layout.bos, .eos = layout.eos, .unk = layout.unk};
  parts.controls.assign(layout.controls.begin(), layout.controls.end());
  parts.symbols.assign(layout.symbols.begin(), layout.symbols.end());
  parts.symbols.insert(parts.symbols.end(), settings.symbols.begin(), settings.symbols.end());
  parts.byte_fallback = settings.byte_fallback;
  parts.character_coverage = settings.character_coverage;
  parts.max_piece_length = settings.max_piece_length;
  if (!layout.keeps_text) {
    parts.normalizer = kNormalizer;
    ASSIGN_OR_RETURN(parts.charsmap, LibraryCharsmap(kNormalizer));
  }
  return parts;
}

UnigramRules RulesOf(const TrainingSettings& settings, const SentencePieceModel& others) {
  UnigramRules rules;
  rules.other_pieces = others.pieces().size();
  rules.pieces = static_cast<std::size_t>(settings.vocab_size) -
                 std::min(static_cast<std::size_t>(settings.vocab_size), rules.other_pieces);
  rules.fewer_will_do = settings.fewer_will_do;
  rules.character_coverage = settings.character_coverage;
  rules.required_characters = {std::string(kSpaceMark)};  // texts have spaces even if no word has one
  for (const SentencePiece& piece : others.pieces()) rules.reserved_texts.push_back(piece.text);
  rules.max_characters = static_cast<std::size_t>(settings.max_piece_length);
  if (settings.is_rough) {
    rules.seeds = kRoughSeeds * rules.pieces;
    rules.shrink_factor = kRoughShrink;
    rules.rounds_of_expectation = 1;
  }
  return rules;
}

}  // namespace

// The factors were measured on Japanese prose; each is a little above the measured value.
std::uint64_t UnigramTrainingMemory(const TrainingSettings& settings, std::uint64_t text_bytes) {
  if (IsByScript(settings.boundaries)) return 64 * kMiB + text_bytes * 13;
  // The distinct morphemes, in front of words and inside of them.
  const double kinds = settings.boundaries == Boundaries::kCutsInWords ? 2 : 1;
  const double distinct = kinds * 2 * 18 * std::sqrt(static_cast<double>(text_bytes));
  return 32 * kMiB + static_cast<std::uint64_t>(distinct) * 300;
}

Result<std::unique_ptr<TokenizerTraining>> UnigramTraining::Start(const TrainingSettings& settings,
                                                                  TrainingMeans means) {
  std::optional<RegularExpression> pattern;
  if (!settings.pattern.empty()) {
    ASSIGN_OR_RETURN(RegularExpression compiled, RegularExpression::Make(settings.pattern));
    pattern.emplace(std::move(compiled));
  }
  return std::unique_ptr<TokenizerTraining>(
      new UnigramTraining(settings, std::move(means), std::move(pattern)));
}

UnigramTraining::UnigramTraining(const TrainingSettings& settings, TrainingMeans means,
                                 std::optional<RegularExpression> pattern)
    : settings_(settings),
      means_(std::move(means)),
      classes_(IsByScript(settings.boundaries) ? std::optional(UnicodeClasses()) : std::nullopt),
      pattern_(std::move(pattern)),
      counter_(means_.threads, [this] { return Counting(); }) {}

CountLine UnigramTraining::Counting() {
  return [this, pre_tokens = PreTokens(WordStartsOf(settings_)), pattern = pattern_,
          found = std::vector<std::uint32_t>()](std::string_view line, std::span<const std::uint32_t> cuts,
                                                CountedWords& words) mutable {
    if (classes_) {
      const bool is_one = settings_.boundaries == Boundaries::kNone;
      FindScriptCuts(line, *classes_, is_one ? JapaneseScripts::kOne : JapaneseScripts::kThree, found);
      cuts = found;
    }
    if (pattern) {
      if (!failed().ok()) return;  // each line may take as long
      if (!classes_) found.assign(cuts.begin(), cuts.end());
      AddBorders(line, *pattern, found);
      cuts = found;
    }
    pre_tokens.Count(line, cuts, words);
  };
}

/// Called by several threads.
void UnigramTraining::AddBorders(std::string_view line, RegularExpression& pattern,
                                 std::vector<std::uint32_t>& cuts) {
  const Status found = pattern.FindBorders(line, cuts);
  if (!found.ok()) {
    const Lock lock(mutex_);
    if (failed_.ok()) failed_ = Status(found).Annotate("pattern");
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
}

Status UnigramTraining::Add(std::string_view line, std::span<const std::uint32_t> cuts) {
  ++counts_.lines;
  counts_.bytes += line.size();
  counter_.Add(line, cuts);
  if (pattern_) RETURN_IF_ERROR(failed());
  if (means_.memory == 0 || counter_.memory() == checked_memory_) return {};
  return CheckMemory();
}

/// A word that several threads have counted takes their memory several times, and none after Join: a run has
/// enough memory or not, whatever the number of its threads is.
Status UnigramTraining::CheckMemory() {
  checked_memory_ = counter_.memory();
  if (32 * kMiB + 8 * checked_memory_ <= means_.memory) return {};
  const std::uint64_t needed = MemoryFor(counter_.Join());
  checked_memory_ = counter_.memory();
  return CheckTrainingMemory(settings_, counts_, needed, means_.memory);
}

Result<SentencePieceModel> UnigramTraining::Finish() {
  const CountedWords& counted = counter_.Join();
  RETURN_IF_ERROR(failed());
  RETURN_IF_ERROR(CheckTrainingMemory(settings_, counts_, MemoryFor(counted), means_.memory));
  counts_.sentences = counted.distinct();
  if (OfDistinctMorphemes(settings_.boundaries)) counts_.morphemes = counted.total();
  ASSIGN_OR_RETURN(UnigramModelParts parts, PartsOf(settings_));
  ASSIGN_OR_RETURN(const SentencePieceModel others, BuildUnigramModel(parts));
  UnigramRules rules = RulesOf(settings_, others);
  rules.threads = means_.threads;
  const std::uint64_t taken = 32 * kMiB + counted.memory();
  if (means_.memory != 0) rules.memory = std::max(means_.memory, taken + 1) - taken;
  rules.progress = means_.progress;
  const Charsmap charsmap(parts.charsmap);
  const auto train = [&](const CountedWords& words) { return TrainUnigram(words, rules, means_.stop); };
  Result<std::vector<UnigramPiece>> pieces =
      charsmap.empty() ? train(counted)
                       : train(NormalizedWords(counted, charsmap, parts.symbols, WordStartsOf(settings_)));
  if (!pieces.ok()) return std::move(pieces).status();
  for (UnigramPiece& piece : *pieces)
    parts.pieces.push_back({std::move(piece.text), piece.score, PieceType::kNormal});
  ASSIGN_OR_RETURN(SentencePieceModel model, BuildUnigramModel(parts));
  FinishModel(*settings_.layout, model);
  return model;
}

}  // namespace pipeline
