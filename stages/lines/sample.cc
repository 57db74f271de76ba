#include <algorithm>
#include <memory>
#include <utility>

#include "base/str.h"
#include "dag/pipeline_file/mistake.h"
#include "stages/lines/line_stages.h"
#include "stages/lines/partition_file.h"
#include "stages/lines/sample_sink.h"
#include "stages/lines/sample_source.h"

namespace pipeline {

namespace {

Result<std::uint8_t> SplitNamed(std::string_view name, const Schema& schema) {
  const auto found = std::find(schema.splits.begin(), schema.splits.end(), name);
  if (found != schema.splits.end()) return static_cast<std::uint8_t>(found - schema.splits.begin());
  return Status(Code::kInvalidArgument, StrCat("split: the records that come in have no split '", name, "'",
                                               NamesLike(name, schema.splits)));
}

Result<SampleRules> SampleRulesOf(const Json& config, const Schema& schema) {
  SampleRules rules;
  if (config["split"].is_string()) {
    ASSIGN_OR_RETURN(rules.split, SplitNamed(config["split"].AsString(), schema));
  }
  rules.bytes = static_cast<std::uint64_t>(config["bytes"].AsInt());
  rules.seed = static_cast<std::uint64_t>(config["seed"].AsInt());
  rules.partition_bytes = static_cast<std::uint64_t>(config["partition"].AsInt());
  return rules;
}

class Sample final : public BarrierStage {
 public:
  Sample(SampleRules rules, Schema schema, std::unique_ptr<SinkStage> outputs)
      : rules_(rules), schema_(std::move(schema)), outputs_(std::move(outputs)) {}

  Result<std::unique_ptr<Sink>> OpenPartition(Store& artifact, PartitionId id) const override {
    ASSIGN_OR_RETURN(std::unique_ptr<Sink> output, outputs_->OpenPartition(artifact, id));
    return NewSampleSink(rules_, id, *outputs_, std::move(output));
  }
  std::uint64_t partition_memory(std::uint64_t text_bytes) const override {
    return SampleSinkMemory(rules_, text_bytes) + outputs_->partition_memory(text_bytes);
  }
  Result<std::unique_ptr<Source>> Open(BarrierRequest request) const override {
    return OpenSample(rules_, format_, schema_, std::move(request));
  }

 private:
  const SampleRules rules_;
  const Schema schema_;
  const PartitionFileFormat format_;
  const std::unique_ptr<SinkStage> outputs_;
};

Status CheckSample(const Json& config, Schema& schema) {
  if (schema.columns.count("text") == 0)
    return Status(Code::kInvalidArgument, "sample counts the column 'text', which its input does not have");
  for (const std::string_view key : {"bytes", "partition"})
    if (config[key].AsInt() < 1)
      return Status(Code::kInvalidArgument, StrCat(key, ": must be at least one byte"));
  return SampleRulesOf(config, schema).status();
}

}  // namespace

StageType SampleType() {
  StageType type;
  type.name = "sample";
  type.help = "Draws, by chance, as many records as fit into so many bytes of text.";
  type.keys = {
      {"split", ValueType::kString, "~", "Draws from this split only; without it, from all."},
      {"bytes", ValueType::kBytes, "", "Bytes of text in the sample, at most."},
      {"seed", ValueType::kInteger, "0", "Another seed draws another sample."},
      {"partition", ValueType::kBytes, "64MiB",
       "A partition of the sample closes at the end of a document once it holds so much text."},
  };
  type.check = CheckSample;
  type.reasons = {Tally("sampled_out", "Records that were not drawn."),
                  Tally("other_split", "Records of other splits.")};
  type.kind = BarrierKind{.make = [](const StageContext& context) -> Result<std::unique_ptr<BarrierStage>> {
    ASSIGN_OR_RETURN(const SampleRules rules, SampleRulesOf(context.config, context.schema));
    ASSIGN_OR_RETURN(std::unique_ptr<SinkStage> outputs, PartitionFileFormat().NewSink(context.schema));
    return std::make_unique<Sample>(rules, context.schema, std::move(outputs));
  }};
  return type;
}

}  // namespace pipeline
