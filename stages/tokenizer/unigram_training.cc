#include "stages/tokenizer/unigram_training.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/str.h"
#include "formats/sentencepiece_builder.h"
#include "stages/tokenizer/normalized_words.h"
#include "stages/tokenizer/word_tally.h"
#include "text/sentencepiece/sentencepiece_handle.h"
#include "text/unicode.h"
#include "text/unigram/unigram_trainer.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kLeastTable = kMiB;         // of one thread
constexpr std::uint64_t kSpillMemory = 128 * kMiB;  // for counting alone
constexpr std::size_t kRoughSeeds = 8;              // for each piece
constexpr double kRoughShrink = 0.5;
constexpr std::string_view kNormalizer = "nmt_nfkc";  // of layouts that do not keep the text

bool IsByScript(Boundaries boundaries) {
  return boundaries == Boundaries::kNone || boundaries == Boundaries::kScripts;
}

std::uint64_t MemoryFor(const CountedWords& words) {
  return WordsMemory(words.characters(), words.distinct(), words.memory());
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
  rules.as_many_as_there_are = settings.is_auto;
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
  if (settings.min_count > 1) return kSpillMemory;
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
      counter_(
          means_.threads, [this] { return Counting(); }, Outlet()) {}

/// A spill is worth its time only if rare words are dropped: the kept ones must fit in memory in any case.
WordOutlet UnigramTraining::Outlet() {
  if (settings_.min_count <= 1 || means_.memory == 0 || means_.scratch.empty()) return {};
  spill_.emplace(means_.scratch);
  // While a table is written, its sorted words take as much again.
  const std::uint64_t table = means_.memory / 8 / std::max<std::size_t>(means_.threads, 1);
  return {std::max(kLeastTable, table), [this](CountedWords& words) { Spill(words); }};
}

/// Called by several threads.
void UnigramTraining::Spill(CountedWords& words) {
  Fail(spill_->Write(words, means_.stop));
  words = CountedWords();
}

void UnigramTraining::Fail(Status why) {
  const Lock lock(mutex_);
  if (failed_.ok()) failed_ = std::move(why);
}

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
  if (Status found = pattern.FindBorders(line, cuts); !found.ok()) Fail(std::move(found).Annotate("pattern"));
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
}

Status UnigramTraining::Add(std::string_view line, std::span<const std::uint32_t> cuts) {
  ++counts_.lines;
  counts_.bytes += line.size();
  counter_.Add(line, cuts);
  if (pattern_ || spill_) RETURN_IF_ERROR(failed());
  if (means_.memory == 0 || spill_ || counter_.memory() == checked_memory_) return {};
  return CheckMemory();
}

/// A word that several threads have counted takes their memory several times, and none after Join: a run has
/// enough memory or not, whatever the number of its threads is.
Status UnigramTraining::CheckMemory() {
  checked_memory_ = counter_.memory();
  if (32 * kMiB + 8 * checked_memory_ <= means_.memory) return {};
  const CountedWords& counted = counter_.Join();
  checked_memory_ = counter_.memory();
  return CheckWords(counted);
}

Status UnigramTraining::CheckWords(const CountedWords& words) const {
  const std::uint64_t needed = MemoryFor(words);
  if (means_.memory == 0 || needed <= means_.memory) return {};
  WordTally tally;
  for (const auto& [word, count] : words.All()) tally.Add(word, count);
  return CheckTrainingMemory(settings_, counts_, needed, means_.memory, tally.LeastThatFits(means_.memory));
}

/// Returns the words that occur often enough.
Result<CountedWords> UnigramTraining::FrequentWords(const CountedWords& counted) {
  const auto least = static_cast<std::uint64_t>(settings_.min_count);
  const auto each = [&](const TakeWord& take) -> Status {
    if (spill_ && !spill_->empty()) return spill_->Merge(take, means_.stop);
    for (const auto& [word, count] : counted.All()) RETURN_IF_ERROR(take(word, count));
    return {};
  };
  if (spill_ && !spill_->empty()) RETURN_IF_ERROR(spill_->Write(counted, means_.stop));
  WordTally tally;
  RETURN_IF_ERROR(each([&tally](std::string_view word, std::uint64_t count) {
    tally.Add(word, count);
    return Status();
  }));
  const std::uint64_t held = counted.memory();  // until the end
  if (means_.memory != 0)
    RETURN_IF_ERROR(CheckTrainingMemory(settings_, counts_, tally.MemoryFrom(least) + held, means_.memory,
                                        tally.LeastThatFits(means_.memory - std::min(held, means_.memory))));
  occurrences_ = tally.total();
  CountedWords frequent;
  RETURN_IF_ERROR(each([&](std::string_view word, std::uint64_t count) {
    if (count >= least) frequent.Add(word, count);
    return Status();
  }));
  if (frequent.distinct() == 0)
    return Status(Code::kFailedPrecondition,
                  StrCat("min_count: no word of the text occurs ", least, " times; write a smaller number"));
  return frequent;
}

Result<SentencePieceModel> UnigramTraining::Finish() {
  const CountedWords& all = counter_.Join();
  RETURN_IF_ERROR(failed());
  occurrences_ = all.total();
  if (settings_.min_count <= 1) return Train(all);
  ASSIGN_OR_RETURN(const CountedWords frequent, FrequentWords(all));
  return Train(frequent);
}

Result<SentencePieceModel> UnigramTraining::Train(const CountedWords& counted) {
  RETURN_IF_ERROR(CheckWords(counted));
  counts_.sentences = counted.distinct();
  if (OfDistinctMorphemes(settings_.boundaries)) counts_.morphemes = occurrences_;
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
