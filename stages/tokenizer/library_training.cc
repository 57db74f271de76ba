#include "stages/tokenizer/library_training.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/str.h"
#include "stages/tokenizer/training_child.h"
#include "text/unigram/pre_tokens.h"

namespace pipeline {

namespace {

struct Morpheme {
  bool begins_word;
  std::string_view text;  // without the mark
  std::uint64_t count;
};

constexpr std::size_t kMaxSentenceBytes = 4096;
// Fixed, and not the number of the machine: each thread sums over its own sentences, and sums of floats
// depend on their order.
constexpr int kThreads = 4;
// Distinct morphemes are so few that the trainer can afford to converge (2 by default).
constexpr int kIterationsOnMorphemes = 6;
// Suffixes have numbers of 32 bits; a longer text takes twice the memory.
constexpr std::uint64_t kHugeText = (std::uint64_t{1} << 31) - (1 << 20);

std::string Decimal(double number) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  return std::string(text.data(), end);
}

/// Returns the memory of the library and the map for so many distinct morphemes.
std::uint64_t MorphemeMemory(std::uint64_t distinct) { return 32 * kMiB + distinct * 750; }

/// Returns the number behind `mark` in `text`.
std::optional<std::int64_t> NumberBehind(std::string_view text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  const char* const begin = text.data() + at + mark.size();
  std::int64_t number = 0;
  if (std::from_chars(begin, text.data() + text.size(), number).ec != std::errc()) return std::nullopt;
  return number;
}

class LibraryTraining final : public TokenizerTraining {
 public:
  LibraryTraining(const TrainingSettings& settings, TrainingMeans means)
      : settings_(settings), means_(std::move(means)), pre_tokens_(WordStartsOf(settings)) {}

  Status Add(std::string_view line, std::span<const std::uint32_t> cuts) override {
    ++counts_.lines;
    counts_.bytes += line.size();
    RETURN_IF_ERROR(CheckTrainingMemory(settings_, counts_, NeededMemory(), means_.memory));
    if (OfDistinctMorphemes(settings_.boundaries)) {
      pre_tokens_.Count(line, cuts, morphemes_);
      return {};
    }
    const TakeSentence take = [this](std::string_view sentence) {
      ++counts_.sentences;
      return child_->Add(sentence);
    };
    const Result<std::uint64_t> cut = settings_.boundaries == Boundaries::kSpaces
                                          ? JoinMorphemes(line, cuts, kMaxSentenceBytes, take)
                                          : CutIntoSentences(line, kMaxSentenceBytes, take);
    if (!cut.ok()) return Explain(cut.status());
    counts_.cuts_in_long_lines += *cut;
    return {};
  }

  Result<SentencePieceModel> Finish() override {
    if (OfDistinctMorphemes(settings_.boundaries)) {
      RETURN_IF_ERROR(StartChild(false));
      counts_.morphemes = morphemes_.total();
      const Status fed = FeedMorphemes(morphemes_, [this](std::string_view sentence) {
        ++counts_.sentences;
        return child_->Add(sentence);
      });
      if (!fed.ok()) return Explain(fed);
      morphemes_ = CountedWords();
    }
    if (counts_.sentences == 0)
      return Status(Code::kFailedPrecondition, "there is no text to train on; is the split `train` empty?");
    const Result<std::string> bytes = child_->Finish();
    if (!bytes.ok()) return Explain(bytes.status());
    ASSIGN_OR_RETURN(SentencePieceModel model, SentencePieceModel::Parse(*bytes));
    FinishModel(*settings_.layout, model);
    return model;
  }

  Status StartChild(bool huge) {
    const bool morphemes = OfDistinctMorphemes(settings_.boundaries);
    std::map<std::string, std::string> options = LayoutOptions(*settings_.layout, morphemes);
    options["model_type"] = settings_.model;
    options["vocab_size"] = std::to_string(settings_.vocab_size);
    options["hard_vocab_limit"] = settings_.fewer_will_do || settings_.is_auto ? "false" : "true";
    options["byte_fallback"] = settings_.byte_fallback ? "true" : "false";
    options["character_coverage"] = Decimal(settings_.character_coverage);
    options["max_sentencepiece_length"] = std::to_string(settings_.max_piece_length);
    options["num_threads"] = std::to_string(kThreads);
    options["max_sentence_length"] = std::to_string(1 << 30);  // the sentences that are sent are far shorter
    options["minloglevel"] = "1";
    for (const std::string& symbol : settings_.symbols) {
      std::string& symbols = options["user_defined_symbols"];
      symbols += StrCat(symbols.empty() ? "" : ",", symbol);
    }
    if (huge) options["train_extremely_large_corpus"] = "true";
    if (morphemes) {
      options["input_format"] = "tsv";
      options["num_sub_iterations"] = std::to_string(kIterationsOnMorphemes);
    }
    ASSIGN_OR_RETURN(child_, TrainingChild::Start(means_.program, options, means_.stop));
    return {};
  }

 private:
  std::uint64_t NeededMemory() const {
    return OfDistinctMorphemes(settings_.boundaries)
               ? std::max(MorphemeMemory(morphemes_.distinct()), 4 * morphemes_.memory())
               : LibraryTrainingMemory(settings_, counts_.bytes, counts_.lines);
  }

  Status Explain(const Status& status) {
    if (status.code() == Code::kResourceExhausted)
      return Status(status.code(),
                    StrCat(status.message(), ": about ",
                           HumanBytes(LibraryTrainingMemory(settings_, counts_.bytes, counts_.lines)),
                           "; train on a smaller sample"));
    if (status.code() != Code::kFailedPrecondition) return status;
    // A message of the library: "Vocabulary size too high (32000). Please set it to a value <= 8123."
    if (const auto most = NumberBehind(status.message(), "set it to a value <= ")) {
      found_sizes_.most = *most;
      return Status(Code::kFailedPrecondition,
                    StrCat("vocab_size: ", settings_.vocab_size, " is more than this text has pieces for; ",
                           *most, " would do, or more text (it had ", HumanBytes(counts_.bytes), ")"));
    }
    // "Vocabulary size is smaller than required_chars. 300 vs 812."
    if (const auto least =
            NumberBehind(status.message(), StrCat("required_chars. ", settings_.vocab_size, " vs "))) {
      found_sizes_.least = *least;
      return Status(Code::kFailedPrecondition,
                    StrCat("vocab_size: ", settings_.vocab_size,
                           " is too few: the special pieces and the characters that "
                           "character_coverage ",
                           Decimal(settings_.character_coverage), " asks for are ", *least,
                           " already; take more, or a lower character_coverage"));
    }
    return Status(Code::kFailedPrecondition, StrCat("SentencePiece refuses to train: ", status.message()));
  }

  const TrainingSettings settings_;
  const TrainingMeans means_;
  std::unique_ptr<TrainingChild> child_;  // for distinct morphemes: from Finish on
  PreTokens pre_tokens_;
  CountedWords morphemes_;  // used if morphemes are the sentences
};

}  // namespace

Status FeedMorphemes(const CountedWords& words, const TakeSentence& take) {
  std::vector<Morpheme> sorted;
  sorted.reserve(words.distinct());
  for (const auto& [word, count] : words.All()) {
    const bool begins_word = word.starts_with(kSpaceMark);
    sorted.push_back({begins_word, begins_word ? word.substr(kSpaceMark.size()) : word, count});
  }
  // The order of the lines with their spaces.
  std::sort(sorted.begin(), sorted.end(), [](const Morpheme& a, const Morpheme& b) {
    return std::tie(b.begins_word, a.text) < std::tie(a.begins_word, b.text);
  });
  for (const Morpheme& morpheme : sorted) {
    const std::string text = StrCat(morpheme.begins_word ? " " : "", morpheme.text);
    RETURN_IF_ERROR(take(StrCat(text, '\t', morpheme.count > 1 ? morpheme.count - 1 : 1)));
    if (morpheme.count > 1) RETURN_IF_ERROR(take(StrCat(text, " \t", 1)));
  }
  return {};
}

// The factors were measured on Japanese prose; each is a little above the measured value.
std::uint64_t LibraryTrainingMemory(const TrainingSettings& settings, std::uint64_t text_bytes,
                                    std::uint64_t lines) {
  if (OfDistinctMorphemes(settings.boundaries)) {
    const double kinds =
        settings.boundaries == Boundaries::kCuts ? 1 : 2;  // at the front of words, and inside
    const double distinct = kinds * 2 * 18 * std::sqrt(static_cast<double>(text_bytes));
    return MorphemeMemory(static_cast<std::uint64_t>(distinct));
  }
  if (settings.model == "char") return 32 * kMiB + text_bytes * 6 + lines * 40;
  if (settings.model == "word") return 32 * kMiB + text_bytes * 12 + lines * 40;
  if (settings.model == "bpe") return 64 * kMiB + text_bytes * 30 + lines * 40;
  // Unigram: the suffix array for each character, and up to a million seeds in each thread.
  const std::uint64_t seeds = std::min(text_bytes, 16 * kMiB) * 16;
  const std::uint64_t array = text_bytes * (settings.boundaries == Boundaries::kSpaces ? 15 : 10);
  return 64 * kMiB + seeds + (text_bytes > kHugeText ? array * 2 : array) + lines * 40;
}

Result<std::unique_ptr<TokenizerTraining>> StartLibraryTraining(const TrainingSettings& settings,
                                                                std::uint64_t text_bytes,
                                                                TrainingMeans means) {
  auto training = std::make_unique<LibraryTraining>(settings, std::move(means));
  if (!OfDistinctMorphemes(settings.boundaries))
    RETURN_IF_ERROR(training->StartChild(text_bytes > kHugeText));
  return training;
}

}  // namespace pipeline
