#include "stages/lines/split.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include "base/digest.h"
#include "base/str.h"
#include "dag/pipeline_file/mistake.h"
#include "dag/records/transform.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kSplitSeed = 0x73706c6974;  // "split"
constexpr std::uint64_t kFewDocuments = 100;
constexpr std::size_t kMaxSplits = 256;  // column `split` is a u8
constexpr double kRounding = 1e-9;       // the sum of decimal fractions may differ so much from 1

std::string Decimal(double number) {
  std::array<char, 64> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed).ptr;
  return std::string(text.data(), end);
}

/// `fraction` with one digit, rounded up: "0.0007".
std::string RoundedUp(double fraction) {
  const double unit = std::pow(10.0, std::floor(std::log10(fraction)));
  std::array<char, 64> text{};
  const int places = std::max(0, static_cast<int>(-std::floor(std::log10(fraction))));
  const double rounded = std::ceil(fraction / unit) * unit;
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), rounded, std::chars_format::fixed, places).ptr;
  return std::string(text.data(), end);
}

class SplitWorker final : public Worker {
 public:
  explicit SplitWorker(const SplitRule& rule) : rule_(rule) {}

  Status Apply(Batch& batch, std::uint32_t, StageCounts&) override {
    batch.split.resize(batch.size());
    for (std::size_t row = 0; row < batch.size(); ++row) batch.split[row] = rule_.Of(batch.heads[row].key);
    return {};
  }

 private:
  const SplitRule& rule_;
};

/// The division of one split of the input. In the list of names, the new splits take its position.
struct Division {
  std::uint8_t divided = 0;  // the number of the divided split in the input
  std::uint8_t added = 0;    // the output has so many splits more
  std::vector<std::string> names;
};

Result<Division> DivisionOf(std::string_view of, const SplitRule& rule, const Schema& schema) {
  Division division;
  const auto at = std::find(schema.splits.begin(), schema.splits.end(), of);
  if (schema.columns.count("split") == 0)
    return Status(Code::kInvalidArgument, "of: the records that come in have no splits; leave it out");
  if (at == schema.splits.end())
    return Status(Code::kInvalidArgument,
                  StrCat("of: no split '", of, "' comes in", NamesLike(of, schema.splits)));
  for (const std::string& name : rule.names())
    if (name != of && std::find(schema.splits.begin(), schema.splits.end(), name) != schema.splits.end())
      return Status(Code::kInvalidArgument,
                    StrCat("splits: a split '", name, "' comes in already; choose another name"));
  if (schema.splits.size() - 1 + rule.names().size() > kMaxSplits)
    return Status(Code::kInvalidArgument, StrCat("splits: there can be ", kMaxSplits, " at most in all"));
  division.divided = static_cast<std::uint8_t>(at - schema.splits.begin());
  division.added = static_cast<std::uint8_t>(rule.names().size() - 1);
  division.names.assign(schema.splits.begin(), at);
  division.names.insert(division.names.end(), rule.names().begin(), rule.names().end());
  division.names.insert(division.names.end(), at + 1, schema.splits.end());
  return division;
}

class DivideWorker final : public Worker {
 public:
  DivideWorker(const SplitRule& rule, const Division& division) : rule_(rule), division_(division) {}

  Status Apply(Batch& batch, std::uint32_t, StageCounts&) override {
    for (std::size_t row = 0; row < batch.size(); ++row) {
      std::uint8_t& split = batch.split[row];
      if (split == division_.divided)
        split = static_cast<std::uint8_t>(split + rule_.Of(batch.heads[row].key));
      else if (split > division_.divided)
        split = static_cast<std::uint8_t>(split + division_.added);
    }
    return {};
  }

 private:
  const SplitRule& rule_;
  const Division& division_;
};

class Split final : public Transform {
 public:
  Split(SplitRule rule, std::optional<Division> division, std::uint64_t min_documents)
      : rule_(std::move(rule)), division_(std::move(division)), min_documents_(min_documents) {}

  Result<std::unique_ptr<Worker>> NewWorker() const override {
    if (division_) return std::make_unique<DivideWorker>(rule_, *division_);
    return std::make_unique<SplitWorker>(rule_);
  }

  Status CheckCounts(const ArtifactTotals& totals) const override {
    std::uint64_t all = 0, records = 0;
    for (const std::string& name : rule_.names())
      if (const auto found = totals.splits.find(name); found != totals.splits.end())
        all += found->second.documents, records += found->second.records;
    if (all == 0 && min_documents_ > 0)
      return Status(
          Code::kFailedPrecondition,
          "there are no documents to split: the input is empty, or the stages before left nothing of it");
    std::string failures;
    for (std::size_t i = 0; i < rule_.names().size(); ++i) {
      const auto found = totals.splits.find(rule_.names()[i]);
      const std::uint64_t documents = found == totals.splits.end() ? 0 : found->second.documents;
      if (documents >= min_documents_) continue;
      failures += StrCat(failures.empty() ? "" : "; ", "split '", rule_.names()[i], "' has ", documents,
                         " of ", all, " documents (fraction ", Decimal(rule_.fractions()[i]), ") and needs ",
                         min_documents_, ": ", Remedy(all));
    }
    if (failures.empty()) return {};
    if (all < kFewDocuments && all < records)
      failures += StrCat(
          "; ", records, " lines are ", all, all == 1 ? " document" : " documents",
          ": a row of a table is one, and in plain text only a blank line ends one; if each line of a text ",
          "is a document, write `documents: line` in the stage that reads it");
    return Status(Code::kFailedPrecondition, failures);
  }

 private:
  /// Documents fall into a split by chance: with m expected, fewer than m - 3 sqrt(m) are rare.
  std::string Remedy(std::uint64_t all) const {
    const auto needed = static_cast<double>(min_documents_);
    const double enough = (needed + 3 * std::sqrt(needed) + 3) / static_cast<double>(all);
    if (enough > 0.5)
      return StrCat("the corpus is too small for it; add text, ",
                    min_documents_ > 1 ? "lower min_documents, " : "", "or leave the split out");
    return StrCat("a fraction of ", RoundedUp(enough), " would do");
  }

  SplitRule rule_;
  std::optional<Division> division_;  // absent: the input has no splits
  std::uint64_t min_documents_;
};

Status RefuseSplits(std::string why) { return Status(Code::kInvalidArgument, StrCat("splits: ", why)); }

}  // namespace

Result<SplitRule> SplitRule::Make(const Json& splits) {
  SplitRule rule;
  double sum = 0;
  std::uint64_t end = 0;
  for (const Json& element : splits.AsArray()) {
    const Json::Array& pair = element.AsArray();
    if (pair.size() != 2) return RefuseSplits("not a map of names to fractions");
    const std::string name(pair[0].AsString());
    const double fraction = pair[1].AsDouble();
    if (std::find(rule.names_.begin(), rule.names_.end(), name) != rule.names_.end())
      return RefuseSplits(StrCat("'", name, "' comes twice"));
    if (!(fraction > 0))
      return RefuseSplits(StrCat("'", name, "' gets ", Decimal(fraction),
                                 " of the documents: fractions are above 0 and add up to 1"));
    rule.names_.push_back(name);
    rule.fractions_.push_back(fraction);
    sum += fraction;
    if (sum > 1 + kRounding)
      return RefuseSplits(
          StrCat("the fractions add up to more than 1 (", Decimal(sum), " with '", name, "')"));

    // Exact: a double times 2^64 loses nothing. A rounding error in the sum must not wrap around.
    constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();
    const double width = std::floor(std::ldexp(fraction, 64));
    const std::uint64_t whole = width < std::ldexp(1.0, 64) ? static_cast<std::uint64_t>(width) : kLast;
    end = whole > kLast - end ? kLast : end + whole;
    rule.ends_.push_back(end);
  }
  if (rule.names_.empty() || rule.names_.size() > kMaxSplits)
    return RefuseSplits(StrCat("there can be 1 to ", kMaxSplits, " splits, not ", rule.names_.size()));
  if (sum < 1 - kRounding)
    return RefuseSplits(StrCat("the fractions add up to ", Decimal(sum),
                               ", which leaves documents without a split; write `rest` for one of them"));
  rule.ends_.pop_back();
  return rule;
}

std::uint64_t SplitRule::HashKey(std::uint64_t key) {
  std::array<char, 8> bytes;  // little endian on every machine
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(key >> (8 * i));
  return Hash64({bytes.data(), bytes.size()}, kSplitSeed);
}

std::uint8_t SplitRule::OfHash(std::uint64_t hash) const {
  const auto found = std::upper_bound(ends_.begin(), ends_.end(), hash);
  return static_cast<std::uint8_t>(found - ends_.begin());
}

StageType SplitType() {
  StageType type;
  type.name = "split";
  type.help = "Decides for each document, by its first bytes, which split it belongs to.";
  type.keys = {
      {"splits", ValueType::kSplits, "",
       "Names of the splits and the fraction of all documents that each gets; one may be `rest`, and a "
       "fraction of 0 "
       "leaves a split out."},
      {"of", ValueType::kString, "~",
       "Where the files had splits already: the one that is divided; the others stay as they are."},
      {"min_documents", ValueType::kInteger, "1", "The run fails when a split ends with fewer documents.",
       Effect::kNone},
  };
  type.check = [](const Json& config, Schema& schema) -> Status {
    if (schema.columns.count("split") != 0 && !config.Has("of"))
      return Status(Code::kInvalidArgument,
                    "the records that come in have their splits already; remove one of the two stages, or "
                    "name the split to divide, e.g. `of: train`");
    if (config["min_documents"].AsInt() < 0)
      return Status(Code::kInvalidArgument, "min_documents: a count cannot be negative");
    ASSIGN_OR_RETURN(const SplitRule rule, SplitRule::Make(config["splits"]));
    if (config.Has("of")) {
      ASSIGN_OR_RETURN(Division division, DivisionOf(config["of"].AsString(), rule, schema));
      schema.splits = std::move(division.names);
      return {};
    }
    schema.columns["split"] = ColumnType::kU8;
    schema.splits = rule.names();
    return {};
  };
  type.kind = TransformKind{.make = [](const StageContext& context) -> Result<std::unique_ptr<Transform>> {
    ASSIGN_OR_RETURN(SplitRule rule, SplitRule::Make(context.config["splits"]));
    const auto min_documents = static_cast<std::uint64_t>(context.config["min_documents"].AsInt(1));
    std::optional<Division> division;
    if (context.config.Has("of")) {
      ASSIGN_OR_RETURN(division, DivisionOf(context.config["of"].AsString(), rule, context.schema));
    }
    return std::make_unique<Split>(std::move(rule), std::move(division), min_documents);
  }};
  return type;
}

}  // namespace pipeline
