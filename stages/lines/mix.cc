#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "base/str.h"
#include "base/words.h"
#include "stages/lines/line_stages.h"
#include "stages/lines/mix_source.h"
#include "stages/lines/partition_file.h"

namespace pipeline {

namespace {

constexpr std::string_view kCorporaInput = "corpora";
constexpr std::size_t kMostCorpora = 1000;

/// Returns the numbers of the list `key`, all above 0; empty: the key is absent.
Result<std::vector<double>> Numbers(const Json& config, std::string_view key) {
  std::vector<double> numbers;
  for (const Json& element : config[key].AsArray()) {
    const std::string_view text = element.AsString();
    const auto number = ParseNumber<double>(text);
    if (!number || !std::isfinite(*number) || *number <= 0)
      return Status(Code::kInvalidArgument, StrCat(key, ": '", text, "' is no number above 0"));
    numbers.push_back(*number);
  }
  return numbers;
}

Result<MixRules> MixRulesOf(const Json& config) {
  MixRules rules;
  const std::string_view unit = config["unit"].AsString();
  rules.unit = unit == "tokens" ? MixUnit::kTokens : unit == "bytes" ? MixUnit::kBytes : MixUnit::kDocuments;
  ASSIGN_OR_RETURN(rules.weights, Numbers(config, "weights"));
  ASSIGN_OR_RETURN(rules.epochs, Numbers(config, "epochs"));
  if (rules.epochs.empty()) rules.epochs.assign(rules.weights.size(), 1);
  if (rules.epochs.size() != rules.weights.size())
    return Status(Code::kInvalidArgument, StrCat("epochs: ", rules.epochs.size(), " numbers for ",
                                                 rules.weights.size(), " weights; give one for each corpus"));
  if (config["size"].is_int()) {
    if (config["size"].AsInt() < 1) return Status(Code::kInvalidArgument, "size: must be at least 1");
    rules.size = static_cast<std::uint64_t>(config["size"].AsInt());
  }
  if (config["partition"].AsInt() < 1)
    return Status(Code::kInvalidArgument, "partition: must be at least one byte");
  rules.seed = static_cast<std::uint64_t>(config["seed"].AsInt());
  rules.partition_bytes = static_cast<std::uint64_t>(config["partition"].AsInt());
  return rules;
}

class Mix final : public BarrierStage {
 public:
  Mix(MixRules rules, Schema schema, std::vector<Corpus> corpora)
      : rules_(std::move(rules)), schema_(std::move(schema)), corpora_(std::move(corpora)) {}

  Result<std::unique_ptr<Sink>> OpenPartition(Store&, PartitionId) const override {
    return Status(Code::kInternal, "mix takes no records in: it reads corpora that exist [this is a bug]");
  }
  std::uint64_t partition_memory(std::uint64_t) const override { return 0; }
  Result<std::unique_ptr<Source>> Open(BarrierRequest request) const override {
    if (corpora_.size() != rules_.weights.size())
      return Status(Code::kUnavailable, "mix: its corpora are not there any more; run again");
    return OpenMix(rules_, corpora_, format_, schema_, std::move(request));
  }

 private:
  const MixRules rules_;
  const Schema schema_;
  const std::vector<Corpus> corpora_;  // empty: nothing will be read from them
  const PartitionFileFormat format_;
};

Status CheckMix(const Json& config, Schema& schema) {
  ASSIGN_OR_RETURN(const MixRules rules, MixRulesOf(config));
  if (schema.columns.count("text") == 0)
    return Status(Code::kInvalidArgument, "mix counts the column 'text', which its corpora do not have");
  if (rules.unit == MixUnit::kTokens && schema.columns.count("ids") == 0)
    return Status(Code::kInvalidArgument,
                  "unit: tokens are counted in the column 'ids', which its corpora do not have; put the "
                  "stage `encode` in front of it, or mix by documents or bytes");
  if (schema.columns.count("split") != 0 &&
      std::find(schema.splits.begin(), schema.splits.end(), "train") == schema.splits.end())
    return Status(Code::kInvalidArgument, "mix mixes the split 'train', which its corpora do not have");
  return {};
}

Status CheckCorpora(const Json& config, std::size_t corpora) {
  const std::size_t weights = config["weights"].AsArray().size();
  if (weights == corpora && corpora <= kMostCorpora) return {};
  return Status(Code::kInvalidArgument,
                StrCat("weights: ", weights, " numbers for ", corpora, " corpora; give one for each"));
}

Result<std::unique_ptr<BarrierStage>> MakeMix(const StageContext& context) {
  ASSIGN_OR_RETURN(MixRules rules, MixRulesOf(context.config));
  std::vector<Corpus> corpora;
  for (std::size_t number = 0;; ++number) {
    const auto found = context.artifacts.find(StrCat(kCorporaInput, "[", number, "]"));
    if (found == context.artifacts.end()) break;
    corpora.push_back({found->second.uri, found->second.directory, found->second.outputs});
  }
  return std::make_unique<Mix>(std::move(rules), context.schema, std::move(corpora));
}

}  // namespace

StageType MixType() {
  StageType type;
  type.name = "mix";
  type.help = "Puts several corpora together in given proportions; documents may come more than once.";
  type.takes = Flow::kNothing;
  type.gives = Flow::kRecords;
  type.named_inputs = {{.name = kCorporaInput,
                        .help = "Stages whose records are mixed, all with the same columns.",
                        .takes = Flow::kRecords,
                        .many = true}};
  type.keys = {
      {"weights", ValueType::kStrings, "",
       "The share of each corpus in the split train, in their order, as numbers of any sum."},
      {"epochs", ValueType::kStrings, "~",
       "How often a document of each corpus may come, in their order; without it, once."},
      Choice("unit", "documents", {"documents", "bytes", "tokens"}, "The unit of the shares."),
      {"size", ValueType::kInteger, "~",
       "How much comes out, in that unit; without it, the most that `epochs` allow."},
      {"seed", ValueType::kInteger, "0",
       "Another seed chooses other documents where not all come equally often."},
      {"partition", ValueType::kBytes, "64MiB",
       "A partition closes at the end of a document once it holds so much text."},
  };
  type.check = CheckMix;
  type.check_named_inputs = [](const Json& config, const std::vector<std::string_view>& named_inputs) {
    return CheckCorpora(config, named_inputs.size());
  };
  type.reasons = {Tally("left_out", "Records of the corpora that were not taken."),
                  Tally("copies", "Records that come once more.")};
  type.kind = BarrierKind{.make = MakeMix};
  return type;
}

}  // namespace pipeline
