#include "stages/write_tfds.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/str.h"
#include "formats/tf_example.h"
#include "formats/tfds.h"
#include "formats/tfrecord.h"
#include "shards/shard_keys.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

/// A record's payload: its text as an Example in a TFRecord frame, so that a shard is payloads, back to back.
class ExampleWorker final : public Worker {
 public:
  Status Apply(Batch& batch, std::uint32_t, StageCounts&) override {
    batch.payload.Clear();
    for (std::size_t row = 0; row < batch.size(); ++row) {
      const std::string_view text = batch.text[row];
      std::string& out = batch.payload.open_row();
      AppendTfRecordHeader(out, TextExampleSize(kTfdsTextFeature, text));
      const std::size_t begin = out.size();
      AppendTextExample(out, kTfdsTextFeature, text);
      AppendTfRecordFooter(out, begin);
      batch.payload.CloseRow();
    }
    return {};
  }
};

using LabelNumbers = std::map<std::string, std::int64_t, std::less<>>;

/// The same with the number of the record's label.
class LabelledWorker final : public Worker {
 public:
  LabelledWorker(const LabelNumbers& numbers, bool fail) : numbers_(numbers), fail_(fail) {}

  Status Apply(Batch& batch, std::uint32_t stage, StageCounts& counts) override {
    batch.payload.Clear();
    RETURN_IF_ERROR(Number(batch, stage, counts));
    for (std::size_t row = 0; row < batch.size(); ++row) {
      example_.clear();
      AppendTfExample(example_, {{kTfdsLabelFeature, TfInt64List{row_numbers_[row]}},
                                 {kTfdsTextFeature, TfBytesList{batch.text[row]}}});
      AppendTfRecord(batch.payload.open_row(), example_);
      batch.payload.CloseRow();
    }
    return {};
  }

 private:
  // Fills row_numbers_ and takes out the rows that have none.
  Status Number(Batch& batch, std::uint32_t stage, StageCounts& counts) {
    row_numbers_.clear(), kept_.clear();
    for (std::size_t row = 0; row < batch.size(); ++row) {
      const std::string_view label = batch.label[row];
      if (const auto found = numbers_.find(label); found != numbers_.end()) {
        row_numbers_.push_back(found->second);
        kept_.push_back(static_cast<std::uint32_t>(row));
        continue;
      }
      const RecordHead& head = batch.heads[row];
      if (fail_) {
        batch.failed_index = head.index;
        return Status(
            Code::kFailedPrecondition,
            StrCat("record ", head.index, " of partition ", batch.partition.partition, ": its label '",
                   Printable(label), "' is not among `labels`; name it there, or set ",
                   "on_unknown_label: quarantine"));
      }
      counts.Add("dropped_unknown_label");
      batch.quarantine.push_back(
          {stage, head.index, head.sub, "dropped_unknown_label", StrCat(label, "\t", batch.text[row])});
    }
    if (kept_.size() < batch.size()) batch.Keep(kept_);
    return {};
  }

  const LabelNumbers& numbers_;
  const bool fail_;
  std::vector<std::int64_t> row_numbers_;
  std::vector<std::uint32_t> kept_;
  std::string example_;
};

class ExampleEncoder final : public Transform {
 public:
  ExampleEncoder(const std::vector<std::string>& labels, bool fail) : fail_(fail) {
    for (const std::string& label : labels)
      numbers_.emplace(label, static_cast<std::int64_t>(numbers_.size()));
  }
  Result<std::unique_ptr<Worker>> NewWorker() const override {
    if (numbers_.empty()) return std::unique_ptr<Worker>(std::make_unique<ExampleWorker>());
    return std::unique_ptr<Worker>(std::make_unique<LabelledWorker>(numbers_, fail_));
  }

 private:
  LabelNumbers numbers_;  // empty where records have no labels
  const bool fail_;       // on a label without a number
};

/// `info` has name, version and description; the shards fill in the splits.
Result<Sidecars> Describe(TfdsInfo info, const std::vector<std::string>& labels,
                          const std::vector<Shard>& shards, const std::vector<ShardOutput>& outputs) {
  for (std::size_t i = 0; i < shards.size(); ++i) {
    if (info.splits.empty() || info.splits.back().name != shards[i].split)
      info.splits.push_back({shards[i].split, {}, 0});
    TfdsSplit& split = info.splits.back();
    split.shard_lengths.push_back(outputs[i].records);
    split.bytes += outputs[i].object.bytes - kTfRecordOverhead * outputs[i].records;
  }
  Sidecars sidecars;
  if (!labels.empty())
    sidecars.before_manifest.push_back({std::string(kTfdsLabelsFile), TfdsLabelsText(labels)});
  sidecars.before_manifest.push_back({std::string(kTfdsInfoFile), TfdsInfoJson(info)});
  sidecars.after_manifest.push_back({std::string(kTfdsFeaturesFile), TfdsFeaturesJson(labels.size())});
  return sidecars;
}

std::vector<std::string> Labels(const Json& config) {
  std::vector<std::string> labels;
  for (const Json& label : config["labels"].AsArray()) labels.emplace_back(label.AsString());
  return labels;
}

class WriteTfds final : public SinkStage {
 public:
  explicit WriteTfds(const StageContext& context)
      : encoder_(Labels(context.config), context.config["on_unknown_label"].AsString() != "quarantine"),
        output_(TfdsShardRules(context)) {}

  const Transform* encoder() const override { return &encoder_; }
  Result<std::unique_ptr<Sink>> OpenPartition(Store& artifact, PartitionId id) const override {
    return output_.OpenPartition(artifact, id);
  }
  std::uint64_t partition_memory(std::uint64_t text_bytes) const override {
    return output_.partition_memory(text_bytes);
  }
  Result<std::unique_ptr<Publication>> Plan(Store& artifact,
                                            const std::vector<Piece>& pieces) const override {
    return output_.Plan(artifact, pieces);
  }

 private:
  ExampleEncoder encoder_;
  ShardedOutput output_;
};

Status Check(const Json& config, Schema& schema) {
  RETURN_IF_ERROR(CheckTfdsName(config["name"].AsString()));
  RETURN_IF_ERROR(CheckTfdsVersion(config["version"].AsString()));
  for (const std::string& split : schema.splits) RETURN_IF_ERROR(CheckTfdsSplit(split));
  if (schema.columns.count("text") == 0)
    return Status(Code::kInvalidArgument,
                  "write_tfds writes the column 'text', which its input does not have");
  const bool labelled = schema.columns.count("label") != 0;
  if (labelled && !config.Has("labels"))
    return Status(Code::kInvalidArgument,
                  "the records have labels: name them in the order of their numbers, e.g. "
                  "`labels: [negative, positive]`");
  if (!labelled && (config.Has("labels") || config.Has("on_unknown_label")))
    return Status(Code::kInvalidArgument,
                  "labels: the records that come in have none; map one with the key "
                  "`label` of a stage that reads rows");
  if (labelled) RETURN_IF_ERROR(CheckTfdsLabels(Labels(config)));
  return CheckShardKeys(config);
}

}  // namespace

ShardRules TfdsShardRules(const StageContext& context) {
  const Json& config = context.config;
  TfdsInfo info;
  info.name = config["name"].AsString();
  info.version = config["version"].AsString();
  info.description = config["description"].AsString();

  ShardRules rules = ShardRulesOf(config, context.schema.splits);
  rules.object_name = [name = info.name](std::string_view split, std::uint32_t number, std::uint32_t count) {
    return TfdsShardName(name, split, number, count);
  };
  rules.describe = [info, labels = Labels(config)](
                       const std::vector<Shard>& shards, const std::vector<ShardOutput>& outputs,
                       const std::vector<std::uint64_t>&) { return Describe(info, labels, shards, outputs); };
  return rules;
}

StageType WriteTfdsType() {
  StageType type;
  type.name = "write_tfds";
  type.help = "Writes a data set that TensorFlow Datasets loads from its files alone.";
  type.keys = {
      {"name", ValueType::kString, "", Effect::kBytes, "The data set's name, in lower snake case."},
      {"version", ValueType::kString, "1.0.0", Effect::kBytes, "The data set's version, X.Y.Z."},
      {"description", ValueType::kString, "~", Effect::kBytes, "What the data set is, for its readers."},
      {"labels", ValueType::kStrings, "~", Effect::kBytes,
       "Where records have labels: all of them, in the order of their numbers."},
      {"on_unknown_label",
       ValueType::kChoice,
       "~",
       Effect::kBytes,
       "What becomes of a record with another label: set aside and counted, or a failure (`fail`, the "
       "default).",
       {"quarantine", "fail"}},
  };
  AppendShardKeys(type.keys);
  type.gives = Flow::kArtifact;
  type.publishes = true;
  type.piece_keys = {kShuffleKey, "labels", "on_unknown_label"};
  type.check = Check;
  type.place = [](const Json& config) {
    return StrCat(config["name"].AsString(), "/", config["version"].AsString());
  };
  type.make = SinkFactory([](const StageContext& context) -> Result<std::unique_ptr<SinkStage>> {
    return std::unique_ptr<SinkStage>(std::make_unique<WriteTfds>(context));
  });
  return type;
}

}  // namespace pipeline
