#include "stages/write_tfds.h"

#include <memory>
#include <utility>

#include "base/str.h"
#include "formats/tf_example.h"
#include "formats/tfds.h"
#include "formats/tfrecord.h"
#include "stages/shard_ranges.h"

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

class ExampleEncoder final : public Transform {
 public:
  Result<std::unique_ptr<Worker>> NewWorker() const override {
    return std::unique_ptr<Worker>(std::make_unique<ExampleWorker>());
  }
};

/// `info` has name, version and description; the shards fill in the splits.
Result<Sidecars> Describe(TfdsInfo info, const std::vector<Shard>& shards,
                          const std::vector<ShardOutput>& outputs) {
  for (std::size_t i = 0; i < shards.size(); ++i) {
    if (info.splits.empty() || info.splits.back().name != shards[i].split)
      info.splits.push_back({shards[i].split, {}, 0});
    TfdsSplit& split = info.splits.back();
    split.shard_lengths.push_back(outputs[i].records);
    split.bytes += outputs[i].object.bytes - kTfRecordOverhead * outputs[i].records;
  }
  Sidecars sidecars;
  sidecars.before_manifest.push_back({std::string(kTfdsInfoFile), TfdsInfoJson(info)});
  sidecars.after_manifest.push_back({std::string(kTfdsFeaturesFile), TfdsFeaturesJson()});
  return sidecars;
}

class WriteTfds final : public SinkStage {
 public:
  explicit WriteTfds(const StageContext& context) : output_(TfdsShardRules(context)) {}

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
  constexpr std::int64_t kMost = 1'000'000;
  for (const std::string_view key : {"shards", "hosts"}) {
    const Json& value = config[key];
    if (value.is_int() && (value.AsInt() < 1 || value.AsInt() > kMost))
      return Status(Code::kInvalidArgument, StrCat(key, ": ", value.AsInt(), ": from 1 to ", kMost));
  }
  return CheckShardRules(TfdsShardRules({std::string(), config, schema}));
}

}  // namespace

ShardRules TfdsShardRules(const StageContext& context) {
  const Json& config = context.config;
  TfdsInfo info;
  info.name = config["name"].AsString();
  info.version = config["version"].AsString();
  info.description = config["description"].AsString();

  ShardRules rules;
  rules.splits = context.schema.splits;
  if (const Json& shuffle = config["shuffle"]; shuffle.is_object()) {
    rules.shuffle_seed = static_cast<std::uint64_t>(shuffle["seed"].AsInt());
    rules.compress_spills = shuffle["compress_spills"].AsBool();
  }
  if (config["shards"].is_int()) rules.shards = static_cast<std::uint32_t>(config["shards"].AsInt());
  rules.hosts = static_cast<std::uint32_t>(config["hosts"].AsInt(1));
  rules.equal = config["equal"].AsBool();
  rules.auto_shards = TfdsShardCount;
  rules.object_name = [name = info.name](std::string_view split, std::uint32_t number, std::uint32_t count) {
    return TfdsShardName(name, split, number, count);
  };
  rules.describe = [info](const std::vector<Shard>& shards, const std::vector<ShardOutput>& outputs) {
    return Describe(info, shards, outputs);
  };
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
      {"shuffle", ValueType::kShuffle, "{seed: 0}", Effect::kBytes,
       "The order of the records over the whole of each split; `none` keeps that of the corpus."},
      {"shards", ValueType::kShards, "auto", Effect::kBytes,
       "Shards of each split; `auto` takes as many as TensorFlow Datasets would."},
      {"hosts", ValueType::kInteger, "1", Effect::kBytes, "The shards of train are a multiple of it."},
      {"equal", ValueType::kBoolean, "false", Effect::kBytes,
       "Whether the last rows of train are left out so that all its shards have the same number."},
  };
  type.gives = Flow::kArtifact;
  type.publishes = true;
  type.piece_keys = {"shuffle"};
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
