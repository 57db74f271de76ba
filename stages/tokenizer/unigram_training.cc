#include "stages/tokenizer/unigram_training.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "base/mutex.h"
#include "base/str.h"
#include "formats/sentencepiece_builder.h"
#include "stages/tokenizer/word_spill.h"
#include "text/character_class.h"
#include "text/regular_expression.h"
#include "text/sentencepiece/sentencepiece_handle.h"
#include "text/tokenizer_corpus.h"
#include "text/unicode.h"
#include "text/unigram/unigram_trainer.h"
#include "text/unigram/word_counter.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

/// Returns the bytes of the longest symbol at the front of `text`; 0: there is none.
std::size_t SymbolAt(std::string_view text, const std::vector<std::string>& symbols) {
  std::size_t longest = 0;
  for (const std::string& symbol : symbols)
    if (text.starts_with(symbol)) longest = std::max(longest, symbol.size());
  return longest;
}

constexpr std::uint64_t kCharacterTables = 32 << 20;
constexpr std::uint64_t kMostBytesOfWord = 60;  // in CountedWords, beside its text

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

class UnigramTraining final : public TokenizerTraining {
 public:
  UnigramTraining(const TrainingSettings& settings, TrainingMeans means,
                  std::optional<RegularExpression> pattern)
      : settings_(settings),
        means_(std::move(means)),
        classes_(IsByScript(settings.boundaries) ? std::optional(UnicodeClasses()) : std::nullopt),
        pattern_(std::move(pattern)),
        counter_(
            means_.threads, [this] { return Counting(); }, Outlet()) {}

  Status Add(std::string_view line, std::span<const std::uint32_t> cuts) override {
    ++counts_.lines;
    counts_.bytes += line.size();
    counter_.Add(line, cuts);
    if (pattern_ || spill_) RETURN_IF_ERROR(failed());
    if (means_.memory == 0 || spill_ || counter_.memory() == checked_memory_) return {};
    return CheckMemory();
  }

  Result<SentencePieceModel> Finish() override {
    const CountedWords& all = counter_.Join();
    RETURN_IF_ERROR(failed());
    occurrences_ = all.total();
    if (settings_.min_count <= 1) return Train(all);
    ASSIGN_OR_RETURN(const CountedWords frequent, FrequentWords(all));
    return Train(frequent);
  }

 private:
  /// A word that several threads have counted takes their memory several times, and none after Join: a run
  /// has enough memory or not, whatever the number of its threads is.
  Status CheckMemory() {
    checked_memory_ = counter_.memory();
    if (32 * kMiB + 8 * checked_memory_ <= means_.memory) return {};
    const CountedWords& counted = counter_.Join();
    checked_memory_ = counter_.memory();
    return CheckWords(counted);
  }

  /// kResourceExhausted: a training on these words does not fit.
  Status CheckWords(const CountedWords& words) const {
    const std::uint64_t needed = MemoryFor(words);
    if (means_.memory == 0 || needed <= means_.memory) return {};
    WordTally tally;
    for (const auto& [word, count] : words.All()) tally.Add(word, count);
    return CheckTrainingMemory(settings_, counts_, needed, means_.memory, tally.LeastThatFits(means_.memory));
  }

  /// A spill is worth its time only if rare words are dropped: the kept ones must fit in memory in any case.
  WordOutlet Outlet() {
    if (settings_.min_count <= 1 || means_.memory == 0 || means_.scratch.empty()) return {};
    spill_.emplace(means_.scratch);
    // While a table is written, its sorted words take as much again.
    const std::uint64_t table = means_.memory / 8 / std::max<std::size_t>(means_.threads, 1);
    return {std::max(kLeastTable, table), [this](CountedWords& words) { Spill(words); }};
  }

  /// Called by several threads.
  void Spill(CountedWords& words) {
    Fail(spill_->Write(words, means_.stop));
    words = CountedWords();
  }

  /// Notes the first failure of any thread.
  void Fail(Status why) {
    const Lock lock(mutex_);
    if (failed_.ok()) failed_ = std::move(why);
  }

  /// Returns the words that occur often enough.
  Result<CountedWords> FrequentWords(const CountedWords& counted) {
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
      RETURN_IF_ERROR(
          CheckTrainingMemory(settings_, counts_, tally.MemoryFrom(least) + held, means_.memory,
                              tally.LeastThatFits(means_.memory - std::min(held, means_.memory))));
    occurrences_ = tally.total();
    CountedWords frequent;
    RETURN_IF_ERROR(each([&](std::string_view word, std::uint64_t count) {
      if (count >= least) frequent.Add(word, count);
      return Status();
    }));
    if (frequent.distinct() == 0)
      return Status(Code::kFailedPrecondition, StrCat("min_count: no word of the text occurs ", least,
                                                      " times; write a smaller number"));
    return frequent;
  }

  Result<SentencePieceModel> Train(const CountedWords& counted) {
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

  CountLine Counting() {
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
  void AddBorders(std::string_view line, RegularExpression& pattern, std::vector<std::uint32_t>& cuts) {
    if (Status found = pattern.FindBorders(line, cuts); !found.ok())
      Fail(std::move(found).Annotate("pattern"));
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  }

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

}  // namespace

CountedWords NormalizedWords(const CountedWords& words, const Charsmap& charsmap,
                             const std::vector<std::string>& symbols, WordStarts starts) {
  CountedWords out;
  PreTokens pre_tokens(starts);
  std::string normal;
  for (const auto& [word, count] : words.All()) {
    const bool begins_word = word.starts_with(kSpaceMark);
    std::string_view left = begins_word ? word.substr(kSpaceMark.size()) : word;
    normal.clear();
    while (!left.empty()) {
      std::size_t bytes = SymbolAt(left, symbols);
      if (bytes > 0) {
        normal.append(left.substr(0, bytes));
      } else if (const Charsmap::Match match = charsmap.Longest(left); match.bytes > 0) {
        normal.append(match.replacement);
        bytes = match.bytes;
      } else {
        bytes = CharacterAt(left.data()).bytes;
        normal.append(left.substr(0, bytes));
      }
      left.remove_prefix(bytes);
    }
    pre_tokens.CountText(normal, begins_word, count, out);
  }
  return out;
}

std::uint64_t WordsMemory(std::uint64_t characters, std::uint64_t distinct, std::uint64_t held) {
  return kCharacterTables + UnigramMemory(characters, distinct, held);
}

void WordTally::Words::Add(const Words& other) {
  distinct += other.distinct;
  characters += other.characters;
  bytes += other.bytes;
}

std::uint64_t WordTally::Words::Memory() const {
  return WordsMemory(characters, distinct, kMostBytesOfWord * distinct + bytes);
}

void WordTally::Add(std::string_view word, std::uint64_t count) {
  by_count_[count].Add({1, CountCharacters(word), word.size()});
  total_ = SaturatedSum(total_, count);
}

std::uint64_t WordTally::MemoryFrom(std::uint64_t least) const {
  Words words;
  for (auto at = by_count_.lower_bound(least); at != by_count_.end(); ++at) words.Add(at->second);
  return words.Memory();
}

std::uint64_t WordTally::LeastThatFits(std::uint64_t memory) const {
  Words words;
  for (auto at = by_count_.rbegin(); at != by_count_.rend(); ++at) {
    words.Add(at->second);
    if (words.Memory() <= memory) continue;
    return at == by_count_.rbegin() ? 0 : at->first + 1;
  }
  return 1;
}

// The factors were measured on Japanese prose; each is a little above the measured value.
std::uint64_t UnigramTrainingMemory(const TrainingSettings& settings, std::uint64_t text_bytes) {
  if (settings.min_count > 1) return kSpillMemory;
  if (IsByScript(settings.boundaries)) return 64 * kMiB + text_bytes * 13;
  // The distinct morphemes, in front of words and inside of them.
  const double kinds = settings.boundaries == Boundaries::kCutsInWords ? 2 : 1;
  const double distinct = kinds * 2 * 18 * std::sqrt(static_cast<double>(text_bytes));
  return 32 * kMiB + static_cast<std::uint64_t>(distinct) * 300;
}

Result<std::unique_ptr<TokenizerTraining>> StartUnigramTraining(const TrainingSettings& settings,
                                                                TrainingMeans means) {
  std::optional<RegularExpression> pattern;
  if (!settings.pattern.empty()) {
    ASSIGN_OR_RETURN(RegularExpression compiled, RegularExpression::Make(settings.pattern));
    pattern.emplace(std::move(compiled));
  }
  return std::make_unique<UnigramTraining>(settings, std::move(means), std::move(pattern));
}

}  // namespace pipeline
