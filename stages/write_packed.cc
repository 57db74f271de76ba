#include "stages/write_packed.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/str.h"
#include "formats/packed.h"
#include "stages/packed_info.h"
#include "stages/row_packer.h"
#include "shards/shard_keys.h"
#include "stages/tokenizer_facts.h"

namespace pipeline {

namespace {

constexpr std::string_view kTokenizerPort = "tokenizer";
constexpr std::string_view kSeqLenKey = "seq_len";
constexpr std::int64_t kMaxSeqLen = 1 << 20;

/// Makes rows of one partition's records, a stream for each split, and hands them on as records of their own:
/// the rows of a split are numbered from 0, which is their origin for the shuffle.
class PackedSink final : public Sink {
 public:
  PackedSink(std::unique_ptr<Sink> rows, const RowRules& rules, std::uint32_t vocab_size, std::size_t splits)
      : sink_(std::move(rows)), rules_(rules), vocab_size_(vocab_size), streams_(splits) {}

  Status Write(const Batch& batch) override {
    RETURN_IF_ERROR(Check(batch));
    for (std::size_t row = 0; row < batch.size(); ++row) {
      const std::uint8_t split = batch.split.empty() ? std::uint8_t{0} : batch.split[row];
      if (split >= streams_.size())
        return Status(Code::kInternal,
                      StrCat("packed rows: split ", split, " where there are ", streams_.size()));
      std::unique_ptr<RowPacker>& stream = streams_[split];
      if (!stream) stream = NewStream(split);
      RETURN_IF_ERROR(
          stream->Add(batch.ids[row], batch.id_ends[row], batch.text[row], batch.heads[row].document));
    }
    return HandOn();
  }

  Result<PartitionOutput> Commit(const PartitionEnd& end) override {
    for (const std::unique_ptr<RowPacker>& stream : streams_)
      if (stream) RETURN_IF_ERROR(stream->Finish());
    RETURN_IF_ERROR(HandOn());
    return sink_->Commit(end);
  }

 private:
  Status Check(const Batch& batch) const {
    const std::size_t rows = batch.size();
    if (batch.ids.size() != rows || batch.id_ends.size() != rows || batch.text.size() != rows ||
        (!batch.split.empty() && batch.split.size() != rows))
      return Status(Code::kInternal, StrCat("packed rows: ", batch.ids.size(), " lists of ids and ",
                                            batch.text.size(), " texts for ", rows, " records"));
    const auto ids = batch.ids.joined();
    const auto highest = std::max_element(ids.begin(), ids.end());
    if (highest == ids.end() || *highest < vocab_size_) return {};
    return Status(Code::kInvalidArgument,
                  StrCat("packed rows: an id is ", *highest, " and the tokenizer has ", vocab_size_,
                         " pieces: the ids were made by another tokenizer"));
  }

  std::unique_ptr<RowPacker> NewStream(std::uint8_t split) {
    return std::make_unique<RowPacker>(
        rules_,
        [this, split, index = std::uint64_t{0}](std::span<const std::uint32_t> ids,
                                                const PackedRowFacts& facts) mutable -> Status {
          rows_.heads.push_back({index++, 0, 0, 0});
          rows_.split.push_back(split);
          AppendPackedRowFacts(rows_.payload.open_row(), facts);
          AppendPackedRow(rows_.payload.open_row(), ids);
          rows_.payload.CloseRow();
          return {};
        });
  }

  Status HandOn() {
    if (rows_.heads.empty()) return {};
    RETURN_IF_ERROR(sink_->Write(rows_));
    rows_.Clear(0);
    return {};
  }

  const std::unique_ptr<Sink> sink_;
  const RowRules rules_;
  const std::uint32_t vocab_size_;
  std::vector<std::unique_ptr<RowPacker>> streams_;  // by split; null until it occurs
  Batch rows_;                                       // made and not yet handed on
};

PackedTotals TotalsOf(const ShardOutput& output) {
  PackedTotals totals;
  totals.rows = output.records;
  if (output.sums.size() != kPackedIndexNumbers) return totals;
  totals.tokens = output.sums[0];
  totals.bytes = output.sums[1];
  totals.chars = output.sums[2];
  return totals;
}

/// `info` knows the tokenizer; the shards fill in the splits.
std::string Describe(PackedInfo info, const std::vector<Shard>& shards,
                     const std::vector<ShardOutput>& outputs, const std::vector<std::uint64_t>& left_out) {
  for (std::size_t i = 0; i < shards.size(); ++i) {
    if (info.splits.empty() || info.splits.back().name != shards[i].split)
      info.splits.push_back({shards[i].split, left_out[info.splits.size()], {}});
    info.splits.back().shards.push_back({shards[i].object, shards[i].index, TotalsOf(outputs[i])});
  }
  return PackedInfoJson(info);
}

/// The tokenizer's file, which goes with its ids.
Result<std::string> ReadModel(const ArtifactInput& tokenizer, const TokenizerFacts& facts) {
  Result<std::string> model = ReadObject(*tokenizer.directory, facts.model, kMaxTokenizerModelBytes);
  if (!model.ok()) return std::move(model).status().Annotate("the tokenizer's model");
  if (DigestOf(*model) == facts.model_digest) return model;
  return Status(Code::kDataLoss, StrCat("the tokenizer's model ", facts.model,
                                        " is not the one that its facts name: it was changed or damaged"));
}

ShardRules RulesOf(const StageContext& context, const PackedInfo& info, const ArtifactInput& tokenizer,
                   const TokenizerFacts& facts) {
  ShardRules rules = ShardRulesOf(context.config, context.schema.splits);
  rules.object_name = PackedShardName;
  rules.index = ShardIndex{kPackedIndexNumbers, PackedIndexName};
  rules.describe = [info, tokenizer, facts](const std::vector<Shard>& shards,
                                            const std::vector<ShardOutput>& outputs,
                                            const std::vector<std::uint64_t>& left_out) -> Result<Sidecars> {
    ASSIGN_OR_RETURN(std::string model, ReadModel(tokenizer, facts));
    Sidecars sidecars;
    sidecars.before_manifest.push_back(
        {std::string(kPackedInfoFile), Describe(info, shards, outputs, left_out)});
    sidecars.before_manifest.push_back({std::string(kPackedModelFile), std::move(model)});
    return sidecars;
  };
  return rules;
}

class WritePacked final : public SinkStage {
 public:
  WritePacked(const RowRules& rules, std::uint32_t vocab_size, ShardRules shards)
      : rules_(rules), vocab_size_(vocab_size), splits_(shards.splits.size()), output_(std::move(shards)) {}

  /// Rows cross the borders of batches: they are made in order, by the Sink.
  const Transform* encoder() const override { return nullptr; }
  Result<std::unique_ptr<Sink>> OpenPartition(Store& artifact, PartitionId id) const override {
    ASSIGN_OR_RETURN(std::unique_ptr<Sink> rows, output_.OpenPartition(artifact, id));
    return std::unique_ptr<Sink>(std::make_unique<PackedSink>(std::move(rows), rules_, vocab_size_, splits_));
  }
  std::uint64_t partition_memory(std::uint64_t text_bytes) const override {
    const std::uint64_t row = sizeof(std::uint32_t) * (std::uint64_t{rules_.seq_len} + 1);
    return output_.partition_memory(text_bytes) + row * splits_;
  }
  Result<std::unique_ptr<Publication>> Plan(Store& artifact,
                                            const std::vector<Piece>& pieces) const override {
    return output_.Plan(artifact, pieces);
  }

 private:
  const RowRules rules_;
  const std::uint32_t vocab_size_;
  const std::size_t splits_;
  ShardedOutput output_;
};

Result<std::unique_ptr<SinkStage>> Make(const StageContext& context) {
  const auto tokenizer = context.artifacts.find(kTokenizerPort);
  if (tokenizer == context.artifacts.end())
    return Status(Code::kFailedPrecondition, "write_packed needs the tokenizer that made its ids");
  ASSIGN_OR_RETURN(const TokenizerFacts facts, ReadTokenizerFacts(tokenizer->second));
  if (facts.eos_id < 0)
    return Status(Code::kFailedPrecondition,
                  StrCat("write_packed ends documents with the id eos, which a tokenizer of layout '",
                         facts.layout, "' lacks; train one of another layout, such as pipe or flax_lm1b"));
  RowRules rules;
  rules.seq_len = static_cast<std::uint32_t>(context.config[kSeqLenKey].AsInt());
  rules.eos_id = static_cast<std::uint32_t>(facts.eos_id);
  rules.fill_id = facts.pad_id < 0 ? rules.eos_id : static_cast<std::uint32_t>(facts.pad_id);
  if (facts.newline_id >= 0) rules.newline_id = static_cast<std::uint32_t>(facts.newline_id);

  PackedInfo info;
  info.seq_len = rules.seq_len;
  info.fill_id = rules.fill_id;
  info.tokenizer = facts;
  info.tokenizer.model = kPackedModelFile;
  return std::unique_ptr<SinkStage>(std::make_unique<WritePacked>(
      rules, facts.vocab_size, RulesOf(context, info, tokenizer->second, facts)));
}

Status Check(const Json& config, Schema&) {
  const std::int64_t seq_len = config[kSeqLenKey].AsInt();
  if (seq_len < 1 || seq_len > kMaxSeqLen)
    return Status(Code::kInvalidArgument, StrCat(kSeqLenKey, ": ", seq_len, ": from 1 to ", kMaxSeqLen));
  return CheckShardKeys(config);
}

}  // namespace

StageType WritePackedType() {
  StageType type;
  type.name = "write_packed";
  type.help = "Writes rows of token ids, packed without gaps, that language model trainers read.";
  type.keys = {
      {kSeqLenKey, ValueType::kInteger, "", Effect::kBytes,
       "Targets of a row; it has one id more, the first of which is context alone."},
  };
  AppendShardKeys(type.keys);
  type.gives = Flow::kArtifact;
  type.publishes = true;
  type.reads = {"text", "ids", "id_ends"};
  type.ports = {{.name = kTokenizerPort,
                 .or_file = true,
                 .help = "The tokenizer that made the ids; left out, the one of the stage that encoded.",
                 .inherited = true}};
  type.piece_keys = {kSeqLenKey, kShuffleKey};
  type.check = Check;
  type.make = SinkFactory(Make);
  return type;
}

}  // namespace pipeline
