#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/str.h"
#include "dag/records/transform.h"
#include "stages/lines/line_stages.h"
#include "text/character_class.h"
#include "text/pattern_set.h"
#include "text/repetition.h"
#include "text/unicode.h"
#include "text/url_share.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

constexpr std::size_t kMinRepeatLength = 2;
constexpr std::size_t kMaxRepeatLength = 64;

/// A key whose value is a [low, high] for the characters of some classes.
struct ClassRule {
  std::string_view key;
  std::vector<CharacterClass> classes;
  std::string_view help;
};

const std::vector<ClassRule>& ClassRules() {
  using enum CharacterClass;
  static const std::vector<ClassRule> kRules = {
      {"kana", {kHiragana, kKatakana}, "Drops records whose share of hiragana and katakana is outside."},
      {"hiragana", {kHiragana}, "The same for hiragana."},
      {"katakana", {kKatakana}, "The same for katakana."},
      {"kanji", {kKanji}, "The same for kanji."},
      {"hangul", {kHangul}, "The same for hangul."},
      {"latin", {kLatin}, "The same for Latin letters."},
      {"digits", {kDigit}, "The same for digits of all scripts."},
      {"punctuation", {kPunctuation}, "The same for punctuation."},
      {"symbols", {kSymbol}, "The same for symbols, emoji among them."},
      {"other", {kOther}, "The same for characters of other scripts."},
  };
  return kRules;
}

/// Bounds for a share, and the reasons for a share outside of them.
struct ShareRule {
  double low = 0;
  double high = 1;
  std::string below;
  std::string above;

  /// Returns the reason if the share is out of bounds; empty: it is not.
  std::string_view Broken(std::uint64_t part, std::uint64_t total) const {
    const double share = total == 0 ? 0 : static_cast<double>(part) / static_cast<double>(total);
    return share < low ? below : share > high ? std::string_view(above) : std::string_view();
  }
};

std::optional<ShareRule> ShareRuleOf(const Json& config, std::string_view key) {
  const Json::Array& range = config[key].AsArray();
  if (range.size() != 2) return std::nullopt;
  return ShareRule{range[0].AsDouble(), range[1].AsDouble(), StrCat("dropped_", key, "_low"),
                   StrCat("dropped_", key, "_high")};
}

std::optional<std::uint64_t> CountOf(const Json& config, std::string_view key) {
  if (config[key].is_null()) return std::nullopt;
  return static_cast<std::uint64_t>(config[key].AsInt());
}

/// Memory for measurements; one per worker.
struct Scratch {
  explicit Scratch(std::size_t repeat_length) : repetition(repeat_length) {}
  std::vector<char32_t> characters = std::vector<char32_t>(RepetitionFinder::kMostCharacters);  // a piece
  RepetitionFinder repetition;
};

/// All rules of one stage. Immutable: shared by all workers.
class Rules {
 public:
  /// `config` has passed the type's check.
  Rules(const Json& config, PatternSet patterns)
      : min_chars_(CountOf(config, "min_chars")),
        max_chars_(CountOf(config, "max_chars")),
        max_run_(CountOf(config, "max_run")),
        urls_(ShareRuleOf(config, "urls")),
        patterns_(std::move(patterns)),
        repeats_(ShareRuleOf(config, "repeats")),
        repeat_length_(static_cast<std::size_t>(config["repeat_length"].AsInt())) {
    for (const ClassRule& rule : ClassRules())
      if (auto share = ShareRuleOf(config, rule.key))
        shares_.push_back({std::move(*share), std::span(rule.classes)});
    counts_classes_ = !shares_.empty() || urls_;
    if (counts_classes_) classes_.emplace(UnicodeClasses());
  }

  std::size_t repeat_length() const { return repeat_length_; }

  /// Returns the reason of the first rule that `text` breaks; empty: it breaks none.
  std::string_view Broken(std::string_view text, Scratch& scratch) const {
    const Measures measures = Measure(text, scratch);
    if (min_chars_ && measures.characters < *min_chars_) return "dropped_min_chars";
    if (max_chars_ && measures.characters > *max_chars_) return "dropped_max_chars";
    for (const auto& [share, classes] : shares_) {
      std::uint64_t part = 0;
      for (const CharacterClass c : classes) part += measures.classes[c];
      if (const auto broken = share.Broken(part, measures.classes.total()); !broken.empty()) return broken;
    }
    if (measures.has_long_run) return "dropped_max_run";
    if (urls_) {
      const auto broken = urls_->Broken(CountUrlCharacters(text), measures.classes.total());
      if (!broken.empty()) return broken;
    }
    if (patterns_.Match(text)) return "dropped_patterns";
    if (!repeats_) return {};
    // Most records are one piece, which the scratch still has.
    if (measures.last_piece.size() == measures.characters && measures.characters > 0)
      return repeats_->Broken(scratch.repetition.CountRepeated(measures.last_piece), measures.characters);
    return BrokenByRepeats(text, scratch);
  }

 private:
  struct ClassShare {
    ShareRule rule;
    std::span<const CharacterClass> classes;  // in the table of ClassRules()
  };
  struct Measures {
    std::uint64_t characters = 0;
    ClassCounts classes;
    bool has_long_run = false;
    std::span<const char32_t> last_piece;  // in the scratch
  };

  Measures Measure(std::string_view text, Scratch& scratch) const {
    Measures measures;
    if (!counts_classes_ && !max_run_) {
      if (min_chars_ || max_chars_) measures.characters = CountCharacters(text);
      return measures;
    }
    RunFinder run(max_run_.value_or(1));
    while (!text.empty()) {
      const auto piece = std::span(scratch.characters).first(DecodeUtf8(text, scratch.characters));
      if (counts_classes_) classes_->Count(piece, measures.classes);
      if (max_run_) run.Add(piece);
      measures.characters += piece.size();
      measures.last_piece = piece;
    }
    measures.has_long_run = max_run_ && run.found();
    return measures;
  }

  std::string_view BrokenByRepeats(std::string_view text, Scratch& scratch) const {
    std::uint64_t repeated = 0;
    std::uint64_t total = 0;
    while (!text.empty()) {
      const auto piece = std::span(scratch.characters).first(DecodeUtf8(text, scratch.characters));
      repeated += scratch.repetition.CountRepeated(piece);
      total += piece.size();
    }
    return repeats_->Broken(repeated, total);
  }

  std::optional<std::uint64_t> min_chars_;
  std::optional<std::uint64_t> max_chars_;
  std::vector<ClassShare> shares_;
  bool counts_classes_ = false;
  std::optional<CharacterClasses> classes_;
  std::optional<std::uint64_t> max_run_;
  std::optional<ShareRule> urls_;
  PatternSet patterns_;
  std::optional<ShareRule> repeats_;
  std::size_t repeat_length_;
};

class FilterWorker final : public Worker {
 public:
  explicit FilterWorker(const Rules& rules) : rules_(rules), scratch_(rules.repeat_length()) {}

  Status Apply(Batch& batch, std::uint32_t stage, StageCounts& counts) override {
    kept_.clear();
    for (std::size_t row = 0; row < batch.size(); ++row) {
      const std::string_view text = batch.text[row];
      const std::string_view reason = rules_.Broken(text, scratch_);
      if (reason.empty()) {
        kept_.push_back(static_cast<std::uint32_t>(row));
        continue;
      }
      const RecordHead& head = batch.heads[row];
      batch.quarantine.push_back({stage, head.index, head.sub, std::string(reason), std::string(text)});
      counts.Add(reason);
    }
    if (kept_.size() < batch.size()) batch.Keep(kept_);
    return {};
  }

 private:
  const Rules& rules_;
  Scratch scratch_;
  std::vector<std::uint32_t> kept_;
};

class Filter final : public Transform {
 public:
  explicit Filter(Rules rules) : rules_(std::move(rules)) {}
  Result<std::unique_ptr<Worker>> NewWorker() const override {
    return std::make_unique<FilterWorker>(rules_);
  }

 private:
  Rules rules_;
};

Result<PatternSet> PatternsOf(const Json& config) {
  std::vector<std::string> patterns;
  for (const Json& pattern : config["patterns"].AsArray()) patterns.emplace_back(pattern.AsString());
  return PatternSet::Make(patterns);
}

std::vector<ConfigKey> FilterKeys() {
  std::vector<ConfigKey> keys = {
      {"min_chars", ValueType::kInteger, "~", "Drops records with fewer characters."},
      {"max_chars", ValueType::kInteger, "~", "Drops records with more characters."},
  };
  for (const ClassRule& rule : ClassRules())
    keys.push_back({rule.key, ValueType::kFractionRange, "~", rule.help});
  keys.push_back({"max_run", ValueType::kInteger, "~",
                  "Drops records in which one character stands more often in a row."});
  keys.push_back({"urls", ValueType::kFractionRange, "~",
                  "Drops records whose share of characters in URLs is outside."});
  keys.push_back(
      {"patterns", ValueType::kStrings, "[]",
       "Drops records that contain one of these texts; `*` stands for any characters, `^` and `$` for "
       "the ends."});
  keys.push_back({"repeats", ValueType::kFractionRange, "~",
                  "Drops records whose share of characters that repeat earlier ones is outside."});
  keys.push_back({"repeat_length", ValueType::kInteger, "10",
                  "How many characters must come again to count as a repetition."});
  return keys;
}

std::vector<Reason> FilterReasons() {
  std::vector<Reason> reasons;
  for (const ConfigKey& key : FilterKeys()) {
    const bool is_share = key.type == ValueType::kFractionRange;
    for (const std::string_view side : {"_low", "_high"})
      if (is_share)
        reasons.push_back(
            Drop(StrCat("dropped_", key.name, side), "Its share was out of the bounds of that key."));
    if (!is_share && key.name != "repeat_length")
      reasons.push_back(Drop(StrCat("dropped_", key.name), "It broke the rule of that key."));
  }
  return reasons;
}

Status CheckFilter(const Json& config, Schema&) {
  const auto refuse = [](std::string why) { return Status(Code::kInvalidArgument, std::move(why)); };
  bool any = !config["patterns"].AsArray().empty();
  for (const std::string_view key : {"min_chars", "max_chars", "max_run"}) {
    any = any || config.Has(key);
    if (config.Has(key) && config[key].AsInt() < 1)
      return refuse(StrCat(key, ": ", config[key].AsInt(), " characters is no bound; it must be at least 1"));
  }
  for (const ConfigKey& key : FilterKeys())
    any = any || (key.type == ValueType::kFractionRange && config.Has(key.name));
  if (!any)
    return refuse(
        "it has no rule and would drop nothing; give it one, such as min_chars, or remove the stage");
  const Json& min = config["min_chars"];
  const Json& max = config["max_chars"];
  if (!min.is_null() && !max.is_null() && min.AsInt() > max.AsInt())
    return refuse(
        StrCat("min_chars (", min.AsInt(), ") is above max_chars (", max.AsInt(), "): no record would stay"));
  const std::int64_t length = config["repeat_length"].AsInt();
  if (length < std::int64_t{kMinRepeatLength} || length > std::int64_t{kMaxRepeatLength})
    return refuse(StrCat("repeat_length: from ", kMinRepeatLength, " to ", kMaxRepeatLength,
                         " characters, not ", length));
  return PatternsOf(config).status();
}

}  // namespace

StageType FilterType() {
  StageType type;
  type.name = "filter";
  type.help = "Drops records by their length, characters, repetitions and patterns.";
  type.keys = FilterKeys();
  type.reads = {"text"};
  type.reasons = FilterReasons();
  type.libraries = {{"icu", IcuVersion()}};
  type.check = CheckFilter;
  type.kind = TransformKind{.make = [](const StageContext& context) -> Result<std::unique_ptr<Transform>> {
    ASSIGN_OR_RETURN(PatternSet patterns, PatternsOf(context.config));
    return std::make_unique<Filter>(Rules(context.config, std::move(patterns)));
  }};
  return type;
}

}  // namespace pipeline
