#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/str.h"
#include "formats/label_names.h"
#include "formats/sentencepiece_model.h"
#include "formats/tfrecord.h"
#include "stages/export/tfds/tfds.h"
#include "stages/export/tfds/tfds_encoder.h"
#include "stages/export/tfds/tfds_export.h"
#include "stages/lines/labels.h"
#include "stages/shards/shard_keys.h"
#include "stages/shards/shard_name.h"
#include "stages/tokenizer/tokenizer_facts.h"
#include "stages/tokenizer/tokenizer_layout.h"
#include "text/sentencepiece/sentencepiece_handle.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kModelMemory = 32 << 20;  // 32,000 pieces with nmt_nfkc take 10 MiB
constexpr std::int64_t kLeastTokens = 8, kMostTokens = 1 << 20;

/// `info` has name, version and description; this function adds the splits, which it makes of the shards.
Result<Sidecars> Describe(TfdsInfo info, const std::vector<std::string>& texts, const TfdsBeside& beside,
                          const std::vector<Shard>& shards, const std::vector<ShardOutput>& outputs) {
  for (std::size_t i = 0; i < shards.size(); ++i) {
    if (info.splits.empty() || info.splits.back().name != shards[i].split)
      info.splits.push_back({shards[i].split, {}, 0});
    TfdsSplit& split = info.splits.back();
    split.shard_lengths.push_back(outputs[i].records);
    split.bytes += outputs[i].object.bytes - kTfRecordOverhead * outputs[i].records;
  }
  Sidecars sidecars;
  if (!beside.labels.empty())
    sidecars.before_manifest.push_back({std::string(kTfdsLabelsFile), LabelNamesText(beside.labels)});
  if (!beside.tokenizer.empty())
    sidecars.before_manifest.push_back({std::string(kTfdsTokenizerFile), beside.tokenizer});
  sidecars.before_manifest.push_back({std::string(kTfdsInfoFile), TfdsInfoJson(info)});
  sidecars.after_manifest.push_back(
      {std::string(kTfdsFeaturesFile), TfdsFeaturesJson({texts, beside.labels.size()})});
  return sidecars;
}

/// Returns the names of the features of text, in the order of the fields.
std::vector<std::string> TextFeatures(const Json& config, const Schema& schema) {
  std::vector<std::string> names;
  for (const Json& name : config["features"].AsArray()) names.emplace_back(name.AsString());
  if (!names.empty()) return names;
  if (!schema.field_names.empty()) return schema.field_names;
  return {std::string(kTfdsTextFeature)};
}

/// Returns the bytes of the tokenizer's model.
Result<std::string> ReadTokenizer(const StageContext& context) {
  const auto found = context.artifacts.find(kTokenizerInput);
  if (found == context.artifacts.end() || !found->second.directory)
    return Status(Code::kInternal, StrCat(context.name, ": no tokenizer was handed over [this is a bug]"));
  const ArtifactInput& input = found->second;
  const std::string file(!input.file.empty() ? input.file
                                             : input.facts["model"].AsString(kTokenizerModelFile));
  ASSIGN_OR_RETURN(const std::string bytes, ReadObject(*input.directory, file, kMaxTokenizerModelBytes));
  const Result<SentencePieceModel> model = SentencePieceModel::Parse(bytes);
  if (!model.ok()) return Status(model.status()).Annotate(StrCat(context.name, ": ", file));
  return bytes;
}

Status CheckTokenizer(const Json&, const Schema&, const TokenizerFacts& facts) {
  if (facts.layout != kBertLayout) return {};
  return Status(Code::kInvalidArgument,
                "max_tokens: a vocab.txt cannot count tokens; name a SentencePiece model");
}

class WriteTfds final : public ShardedStage {
 public:
  WriteTfds(const StageContext& context, TfdsRecords records, const TfdsBeside& beside)
      : ShardedStage(TfdsShardRules(context, beside)), encoder_(NewTfdsEncoder(std::move(records))) {}

  const Transform* encoder() const override { return encoder_.get(); }

 private:
  const std::unique_ptr<Transform> encoder_;
};

Status CheckFeatures(const Json& config, const Schema& schema, bool labelled) {
  const std::vector<std::string> names = TextFeatures(config, schema);
  const std::size_t texts = std::max<std::size_t>(schema.field_names.size(), 1);
  if (config.Has("features") && names.size() != texts)
    return Status(Code::kInvalidArgument,
                  StrCat("features: ", names.size(), " names where records have ", texts,
                         texts > 1 ? " fields"
                                   : " text; several come from a stage that reads rows, with "
                                     "`columns: fields`"));
  const Status status = CheckTfdsFeatures(names, labelled);
  if (status.ok() || config.Has("features")) return status;
  return Status(Code::kInvalidArgument,
                StrCat(status.message(), "; name the fields with the key `features`"));
}

/// Returns the length of the longest line in ids; 0: lines may have any length, also if the key is absent.
std::int64_t MaxTokens(const Json& config) { return config["max_tokens"].AsInt(0); }

Status CheckMaxTokens(const Json& config, const Schema& schema, bool labelled) {
  const std::int64_t most = MaxTokens(config);
  if (most == 0) return {};
  if (most < kLeastTokens || most > kMostTokens)
    return Status(Code::kInvalidArgument, StrCat("max_tokens: ", most, ": must be from ", kLeastTokens,
                                                 " to ", kMostTokens, ", or 0 for lines of any length"));
  if (!labelled && schema.field_names.empty()) return {};
  return Status(
      Code::kInvalidArgument,
      StrCat("max_tokens: a record with ", labelled ? "a label" : "several texts",
             " is one example, and a part of it would be another: long texts cannot be split; leave the ",
             "key out, or leave long texts out with `filter`"));
}

Status Check(const Json& config, Schema& schema) {
  RETURN_IF_ERROR(CheckTfdsName(config["name"].AsString()));
  RETURN_IF_ERROR(CheckTfdsVersion(config["version"].AsString()));
  for (const std::string& split : schema.splits) RETURN_IF_ERROR(CheckTfdsSplit(split));
  if (schema.columns.count("text") == 0)
    return Status(Code::kInvalidArgument,
                  "write_tfds writes the column 'text', which its input does not have");
  const bool labelled = schema.columns.count("label") != 0;
  if (labelled && !HasLabels(config))
    return Status(Code::kInvalidArgument,
                  "the records have labels: name them in the order of their numbers, e.g. "
                  "`labels: [negative, positive]`, or in a file, `labels_file: names.txt`");
  if (!labelled && (HasLabels(config) || config.Has("on_unknown_label")))
    return Status(Code::kInvalidArgument,
                  "labels: the records that come in have none; map one with the key "
                  "`label` of a stage that reads rows");
  RETURN_IF_ERROR(CheckLabelKeys(config));
  RETURN_IF_ERROR(CheckFeatures(config, schema, labelled));
  RETURN_IF_ERROR(CheckMaxTokens(config, schema, labelled));
  return CheckShardKeys(config);
}

Status CheckNamedInputs(const Json& config, const std::vector<std::string_view>& named_inputs) {
  const bool given =
      std::find(named_inputs.begin(), named_inputs.end(), kTokenizerInput) != named_inputs.end();
  if (MaxTokens(config) != 0 && !given)
    return Status(Code::kInvalidArgument,
                  "max_tokens: only a tokenizer can count tokens; name the trainer's, e.g. "
                  "`tokenizer: ./sentencepiece.model`");
  if (given && !config.Has("max_tokens"))
    return Status(
        Code::kInvalidArgument,
        "tokenizer: has nothing to count; say how long a line may be, e.g. `max_tokens: 256`, or that "
        "lines may have any length, `max_tokens: 0`");
  return {};
}

Result<std::unique_ptr<SinkStage>> Make(const StageContext& context) {
  const Json& config = context.config;
  TfdsRecords records;
  records.features = TextFeatures(config, context.schema);
  records.fields = context.schema.columns.count("fields") != 0;
  TfdsBeside beside;
  ASSIGN_OR_RETURN(beside.labels, LabelNames(config));
  records.labels = beside.labels;
  records.fail = FailsOnUnknownLabel(config);
  if (MaxTokens(config) != 0) {
    ASSIGN_OR_RETURN(beside.tokenizer, ReadTokenizer(context));
    auto encoder = SentencePieceEncoder::Load(beside.tokenizer);
    if (!encoder.ok()) return std::move(encoder).status().Annotate(StrCat(context.name, ": tokenizer"));
    records.tokenizer = std::move(encoder).value();
    records.max_tokens = static_cast<std::size_t>(MaxTokens(config));
  }
  return std::make_unique<WriteTfds>(context, std::move(records), beside);
}

bool IsOwnName(const Json& config, const std::vector<std::string>& splits, std::string_view object) {
  return IsOneOf(object, {kTfdsInfoFile, kTfdsFeaturesFile, kTfdsTokenizerFile, kTfdsLabelsFile}) ||
         IsShardName(object, splits, std::bind_front(TfdsShardName, config["name"].AsString()));
}

bool IsReadName(const Json& config, const std::vector<std::string>&, std::string_view object) {
  return IsLike(object, StrCat(config["name"].AsString(), "-"), "") &&
         object.find(".tfrecord") != std::string_view::npos;
}

}  // namespace

ShardRules TfdsShardRules(const StageContext& context, const TfdsBeside& beside) {
  const Json& config = context.config;
  TfdsInfo info;
  info.name = config["name"].AsString();
  info.version = config["version"].AsString();
  info.description = config["description"].AsString();

  ShardRules rules = ShardRulesOf(config, context.schema.splits);
  rules.object_name = std::bind_front(TfdsShardName, info.name);
  rules.describe = [info, beside, texts = TextFeatures(config, context.schema)](
                       const std::vector<Shard>& shards, const std::vector<ShardOutput>& outputs,
                       const std::vector<std::uint64_t>&) {
    return Describe(info, texts, beside, shards, outputs);
  };
  return rules;
}

StageType WriteTfdsType() {
  StageType type;
  type.name = "write_tfds";
  type.help = "Writes a data set that TensorFlow Datasets loads from its files alone.";
  type.keys = {
      {"name", ValueType::kString, "", "The data set's name, in lower snake case."},
      {"version", ValueType::kString, "1.0.0", "The data set's version, X.Y.Z."},
      {"description", ValueType::kString, "~", "A description of the data set, for its readers."},
      {"features", ValueType::kStrings, "~",
       "The feature of the text, or of each field in their order; by default `text`, or the fields' names."},
  };
  for (ConfigKey& key : LabelKeys("Where records have labels: all of them, in the order of their numbers."))
    type.keys.push_back(std::move(key));
  const std::vector<ConfigKey> keys = {
      UnknownLabelKey(),
      {"max_tokens", ValueType::kInteger, "~",
       "The trainer's longest line in ids of `tokenizer`, its end mark included; longer lines are split at "
       "the ends of sentences instead of being dropped there. 0: lines of any length."},
  };
  type.keys.insert(type.keys.end(), keys.begin(), keys.end());
  AppendShardKeys(type.keys);
  type.named_inputs = {
      {.name = kTokenizerInput,
       .or_file = true,
       .required = false,
       .help = "For `max_tokens`: the stage that trains the tokenizer, or a `.model` file."}};
  type.gives = Flow::kArtifact;
  type.check = Check;
  type.check_named_inputs = CheckNamedInputs;
  type.prepare = [](const Json& config) { return LabelNames(config).status(); };
  type.files = LabelFiles;
  type.check_promised = OfPromisedTokenizer(CheckTokenizer);
  type.reasons = {UnknownLabelReason(),
                  {"split_long", "It had more than `max_tokens` and became several."},
                  Tally("over_max_tokens", "Parts that no cut makes short enough.")};
  type.kind =
      SinkKind{.make = Make,
               .first_pass_keys = {kShuffleKey, "labels", "on_unknown_label", "features", "max_tokens"},
               .first_pass_of = AddCutsCorpus,
               .location =
                   [](const Json& config) {
                     return StrCat(config["name"].AsString(), "/", config["version"].AsString());
                   },
               .names = {IsOwnName, IsReadName},
               .model_memory = [](const Json& config) { return MaxTokens(config) != 0 ? kModelMemory : 0; }};
  return type;
}

}  // namespace pipeline
