#include "stages/export/packed/write_packed.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "base/log.h"
#include "base/str.h"
#include "formats/array_record.h"
#include "formats/coding.h"
#include "formats/megatron_index.h"
#include "stages/export/packed/answers_alone.h"
#include "stages/export/packed/best_fit_packer.h"
#include "stages/export/packed/packed.h"
#include "stages/export/packed/packed_info.h"
#include "stages/export/packed/row_packer.h"
#include "stages/shards/made_rows.h"
#include "stages/shards/shard_keys.h"
#include "stages/shards/shard_name.h"
#include "stages/tokenizer/tokenizer_facts.h"

namespace pipeline {

namespace {

constexpr std::string_view kSeqLenKey = "seq_len";
constexpr std::string_view kPackingKey = "packing";
constexpr std::string_view kEncodingKey = "encoding";
constexpr std::string_view kSegmentsKey = "segments";
// Counts of the stage.
constexpr std::string_view kRowIds = "row_ids";
constexpr std::string_view kFillIds = "fill_ids";
constexpr std::string_view kScoredOf = "scored_of_";  // before the name of a split
constexpr std::string_view kUnscoredDocuments = "unscored_documents";

/// The rules of rows and of their encoding.
struct PackedRules {
  RowRules rows;
  std::uint32_t vocab_size = 0;
  PackedEncoding encoding = PackedEncoding::kExample;
  bool best_fit = false;
  bool segments = false;
  WeightRule weights;

  bool has_weights() const { return weights.open != nullptr; }
  std::uint32_t id_bytes() const { return PackedIdBytes(encoding, vocab_size); }
};

/// Makes rows of the records of one partition, in a stream for each split, and forwards them as records. The
/// rows of a split have numbers from 0; the shuffle uses them as origins.
class PackedSink final : public Sink {
 public:
  PackedSink(std::unique_ptr<Sink> rows, const PackedRules& rules, const std::vector<std::string>& splits)
      : rows_(std::move(rows)), rules_(rules), splits_(splits), streams_(splits.size()) {}

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
    return {};
  }

  Result<CommittedPartition> Commit(const PartitionEnd& end, std::stop_token stop) override {
    for (const std::unique_ptr<RowPacker>& stream : streams_)
      if (stream) RETURN_IF_ERROR(stream->Finish());
    ASSIGN_OR_RETURN(CommittedPartition output, rows_.Commit(end, std::move(stop)));
    if (rules_.best_fit && row_ids_ > 0) {
      output.reasons.emplace(kRowIds, row_ids_);
      output.reasons.emplace(kFillIds, fill_ids_);
    }
    for (std::size_t split = 0; split < streams_.size(); ++split) {
      if (!streams_[split]) continue;
      if (const std::uint64_t scored = streams_[split]->scored(); scored > 0)
        output.reasons.emplace(StrCat(kScoredOf, splits_[split]), scored);
      if (const std::uint64_t without = streams_[split]->unscored_documents(); without > 0)
        output.reasons[std::string(kUnscoredDocuments)] += without;
    }
    return output;
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
    if (highest == ids.end() || *highest < rules_.vocab_size) return {};
    return Status(Code::kInvalidArgument,
                  StrCat("packed rows: an id is ", *highest, " and the tokenizer has ", rules_.vocab_size,
                         " pieces: the ids were made by another tokenizer"));
  }

  std::unique_ptr<RowPacker> NewStream(std::uint8_t split) {
    const auto take = [this, split, index = std::uint64_t{0}](
                          std::span<const std::uint32_t> ids, const PackedRowFacts& facts,
                          std::span<const std::uint32_t> segments,
                          std::span<const std::uint32_t> weights) mutable -> Status {
      row_ids_ += ids.size();
      fill_ids_ += ids.size() - facts.length;
      std::string& payload = rows_.open_row();
      AppendPackedRowFacts(payload, facts);
      if (!weights.empty())
        PutU32(payload, static_cast<std::uint32_t>(std::count(weights.begin(), weights.end(), 1u)));
      AppendRow(payload, ids, facts, segments, weights);
      return rows_.Close({index++, 0, 0, 0}, split);
    };
    std::unique_ptr<TargetWeights> weights = rules_.has_weights() ? rules_.weights.open() : nullptr;
    return rules_.best_fit ? NewBestFitPacker(rules_.rows, take, std::move(weights))
                           : NewStreamPacker(rules_.rows, take, std::move(weights));
  }

  void AppendRow(std::string& payload, std::span<const std::uint32_t> ids, const PackedRowFacts& facts,
                 std::span<const std::uint32_t> segments, std::span<const std::uint32_t> weights) {
    if (const std::uint32_t bytes = rules_.id_bytes(); bytes > 0) return AppendRawIds(payload, ids, bytes);
    PackedSegments of_row;
    if (rules_.segments) of_row = SegmentsOf(segments, facts.length, ids.size());
    const PackedSegments* const wanted = rules_.segments ? &of_row : nullptr;
    if (rules_.encoding == PackedEncoding::kExample)
      AppendPackedRow(payload, ids, wanted, weights);
    else
      AppendPackedExample(payload, ids, wanted, weights);
  }

  MadeRows rows_;
  const PackedRules rules_;
  const std::vector<std::string> splits_;
  std::vector<std::unique_ptr<RowPacker>> streams_;  // by split; null: no record of it yet
  std::uint64_t row_ids_ = 0, fill_ids_ = 0;         // of all rows
};

/// A shard of ArrayRecord.
class ArrayRecordForm final : public ShardForm {
 public:
  void Append(std::string_view row, std::string& out) override { writer_.Append(row, out); }
  void Finish(std::string& out) override { writer_.Finish(out); }

 private:
  ArrayRecordWriter writer_;
};

PackedTotals TotalsOf(const ShardOutput& output) {
  PackedTotals totals;
  totals.rows = output.records;
  if (output.sums.size() < kPackedIndexNumbers) return totals;
  totals.tokens = output.sums[0];
  totals.bytes = output.sums[1];
  totals.chars = output.sums[2];
  if (output.sums.size() == kPackedWeightedNumbers) totals.scored = output.sums[3];
  return totals;
}

/// Returns a percentage with one digit behind the point.
std::string Percent(double share) {
  const auto tenths = static_cast<std::uint64_t>(std::llround(share * 1000));
  return StrCat(tenths / 10, ".", tenths % 10);
}

std::string NothingScored(std::string_view split, const WeightRule& weights) {
  return StrCat("split '", split,
                "' has no scored target, so that its loss would be 0 / 0: ", weights.nothing_scored);
}

/// Returns the published form of entries that have a number of scored targets at their end.
std::string WithoutScored(std::string_view entries) {
  constexpr std::size_t kEntry = kPackedEntryBytes + sizeof(std::uint32_t);
  std::string published;
  published.reserve(entries.size() / kEntry * kPackedEntryBytes);
  for (std::size_t at = 0; at < entries.size(); at += kEntry)
    published += entries.substr(at, kPackedEntryBytes);
  return published;
}

/// `info` has the tokenizer; this function adds the splits, which it makes of the shards.
Result<std::string> Describe(PackedInfo info, const WeightRule& weights, const std::vector<Shard>& shards,
                             const std::vector<ShardOutput>& outputs,
                             const std::vector<std::uint64_t>& left_out) {
  for (std::size_t i = 0; i < shards.size(); ++i) {
    if (info.splits.empty() || info.splits.back().name != shards[i].split)
      info.splits.push_back({shards[i].split, left_out[info.splits.size()], {}});
    info.splits.back().shards.push_back({shards[i].object, shards[i].index, TotalsOf(outputs[i])});
  }
  for (const PackedSplit& split : info.splits)  // `equal` may have left out the only rows with one
    if (info.weights && split.totals().scored == 0)
      return Status(Code::kFailedPrecondition, NothingScored(split.name, weights));
  if (info.best_fit)
    for (const PackedSplit& split : info.splits)
      LogInfo(StrCat("split '", split.name, "': ", Percent(info.padding(split.totals())),
                     " % of the ids are padding"));
  return PackedInfoJson(info);
}

ShardRules RulesOf(const StageContext& context, const PackedInfo& info, const WeightRule& weights,
                   const ArtifactInput& tokenizer, const TokenizerFacts& facts) {
  ShardRules rules = ShardRulesOf(context.config, context.schema.splits);
  const PackedEncoding encoding = info.encoding;
  rules.object_name = [encoding](std::string_view split, std::uint32_t number, std::uint32_t count) {
    return PackedShardName(split, number, count, encoding);
  };
  rules.index = ShardIndex{info.weights ? kPackedWeightedNumbers : kPackedIndexNumbers,
                           [encoding](std::string_view split, std::uint32_t number, std::uint32_t count) {
                             return PackedIndexName(split, number, count, encoding);
                           }};
  if (info.weights) rules.index->encode = WithoutScored;
  if (encoding == PackedEncoding::kMmap)
    rules.index->encode = [type = MegatronTypeOf(facts.vocab_size),
                           ids = info.seq_len + 1](std::string_view entries) {
      return EncodeMegatronIndex(MegatronRows(type, entries.size() / kPackedEntryBytes, ids));
    };
  if (encoding == PackedEncoding::kArrayRecord)
    rules.form = [] { return std::make_unique<ArrayRecordForm>(); };
  rules.describe = [info, weights, tokenizer, facts](
                       const std::vector<Shard>& shards, const std::vector<ShardOutput>& outputs,
                       const std::vector<std::uint64_t>& left_out) -> Result<Sidecars> {
    ASSIGN_OR_RETURN(std::string model, ReadTokenizerModel(tokenizer, facts));
    ASSIGN_OR_RETURN(std::string described, Describe(info, weights, shards, outputs, left_out));
    Sidecars sidecars;
    sidecars.before_manifest.push_back({std::string(kPackedInfoFile), std::move(described)});
    sidecars.before_manifest.push_back({std::string(kPackedModelFile), std::move(model)});
    return sidecars;
  };
  return rules;
}

class WritePacked final : public ShardedStage {
 public:
  WritePacked(const PackedRules& rules, const ShardRules& shards)
      : ShardedStage(shards), rules_(rules), splits_(shards.splits) {}

  /// Null, because rows cross the borders of batches; the Sink makes them in order.
  const Transform* encoder() const override { return nullptr; }
  Result<std::unique_ptr<Sink>> OpenPartition(Store& artifact, PartitionId id) const override {
    ASSIGN_OR_RETURN(std::unique_ptr<Sink> rows, ShardedStage::OpenPartition(artifact, id));
    return std::unique_ptr<Sink>(std::make_unique<PackedSink>(std::move(rows), rules_, splits_));
  }
  std::uint64_t partition_memory(std::uint64_t text_bytes) const override {
    // A row; with segments, also the segment and the position of each id; with weights, that of each id.
    const std::uint64_t lists = (rules_.segments ? 3 : 1) + (rules_.has_weights() ? 1 : 0);
    const std::uint64_t row = lists * sizeof(std::uint32_t) * (std::uint64_t{rules_.rows.seq_len} + 1);
    return ShardedStage::partition_memory(text_bytes) + row * splits_.size() +
           (rules_.best_fit ? BestFitMemory(text_bytes, rules_.has_weights()) : 0);
  }
  Status CheckCounts(const ArtifactTotals& totals) const override {
    RETURN_IF_ERROR(ShardedStage::CheckCounts(totals));
    std::string failures;
    for (const std::string& split : splits_)
      if (rules_.has_weights() && !totals.counts.reasons.contains(StrCat(kScoredOf, split)))
        failures += StrCat(failures.empty() ? "" : "; ", NothingScored(split, rules_.weights));
    return failures.empty() ? Status() : Status(Code::kFailedPrecondition, failures);
  }
  Result<std::unique_ptr<Publication>> Plan(Store& artifact,
                                            const std::vector<PartitionOutput>& outputs) const override {
    std::uint64_t left_out = 0;
    for (const PartitionOutput& output : outputs)
      if (const auto found = output.committed.reasons.find(std::string(kUnscoredDocuments));
          found != output.committed.reasons.end())
        left_out += found->second;
    if (left_out > 0) LogInfo(StrCat("documents left out of the loss, without a scored target: ", left_out));
    return ShardedStage::Plan(artifact, outputs);
  }

 private:
  const PackedRules rules_;
  const std::vector<std::string> splits_;
};

PackedEncoding EncodingOf(const Json& config) {
  return PackedEncodingOf(config[kEncodingKey].AsString()).value_or(PackedEncoding::kExample);
}

bool IsOwnName(const Json& config, const std::vector<std::string>& splits, std::string_view object) {
  const PackedEncoding encoding = EncodingOf(config);
  const auto shard = [encoding](std::string_view split, std::uint32_t number, std::uint32_t count) {
    return PackedShardName(split, number, count, encoding);
  };
  const auto index = [encoding](std::string_view split, std::uint32_t number, std::uint32_t count) {
    return PackedIndexName(split, number, count, encoding);
  };
  return IsOneOf(object, {kPackedInfoFile, kPackedModelFile}) || IsShardName(object, splits, shard) ||
         IsShardName(object, splits, index);
}

/// Loaders read a pattern such as `train-*.tfrecord*`; Megatron reads all files of a directory
/// (stages/export/packed/packed.md).
bool IsReadName(const Json& config, const std::vector<std::string>& splits, std::string_view object) {
  const PackedEncoding encoding = EncodingOf(config);
  const std::string shard = PackedShardName("", 0, 1, encoding);
  const std::string suffix = shard.substr(shard.rfind('.'));
  return std::any_of(splits.begin(), splits.end(), [&](const std::string& split) {
    if (encoding == PackedEncoding::kMmap)
      return object.starts_with(StrCat(split, "/")) && (object.ends_with(".bin") || object.ends_with(".idx"));
    return IsLike(object, StrCat(split, "-"), "") && object.find(suffix) != std::string_view::npos;
  });
}

Status CheckTokenizer(const Json& config, const Schema&, const TokenizerFacts& facts) {
  if (facts.eos_id < 0)
    return Status(Code::kFailedPrecondition,
                  StrCat("write_packed ends documents with the id eos, which a tokenizer of layout '",
                         facts.layout, "' lacks; train one of another layout, such as pipe or flax_lm1b"));
  if (EncodingOf(config) == PackedEncoding::kRaw16 && facts.vocab_size > kMostOfRaw16)
    return Status(Code::kFailedPrecondition,
                  StrCat("raw16 has room for ids below ", kMostOfRaw16, ", and the tokenizer has ",
                         facts.vocab_size, " pieces; write `encoding: raw32`"));
  return {};
}

Result<std::unique_ptr<SinkStage>> Make(const StageContext& context, const ChooseWeights& weights) {
  const auto tokenizer = context.artifacts.find(kTokenizerInput);
  if (tokenizer == context.artifacts.end())
    return Status(Code::kFailedPrecondition, "write_packed needs the tokenizer that made its ids");
  ASSIGN_OR_RETURN(const TokenizerFacts facts, ReadTokenizerFacts(tokenizer->second));
  RETURN_IF_ERROR(CheckTokenizer(context.config, context.schema, facts));
  PackedRules rules;
  rules.vocab_size = facts.vocab_size;
  rules.encoding = EncodingOf(context.config);
  rules.best_fit = context.config[kPackingKey].AsString(kStreamPacking) == kBestFitPacking;
  rules.segments = context.config[kSegmentsKey].AsBool();
  rules.rows.seq_len = static_cast<std::uint32_t>(context.config[kSeqLenKey].AsInt());
  rules.rows.eos_id = static_cast<std::uint32_t>(facts.eos_id);
  // MaxText accepts eos alone as padding in this format.
  rules.rows.fill_id = facts.pad_id < 0 || rules.encoding == PackedEncoding::kMmap
                           ? rules.rows.eos_id
                           : static_cast<std::uint32_t>(facts.pad_id);
  if (facts.newline_id >= 0) rules.rows.newline_id = static_cast<std::uint32_t>(facts.newline_id);
  ASSIGN_OR_RETURN(rules.weights, (weights ? weights : ChooseAnswersAlone)(context, facts));

  PackedInfo info;
  info.seq_len = rules.rows.seq_len;
  info.fill_id = rules.rows.fill_id;
  info.encoding = rules.encoding;
  info.best_fit = rules.best_fit;
  info.segments = rules.segments;
  info.weights = rules.has_weights();
  info.tokenizer = facts;
  info.tokenizer.model = kPackedModelFile;
  return std::unique_ptr<SinkStage>(
      std::make_unique<WritePacked>(rules, RulesOf(context, info, rules.weights, tokenizer->second, facts)));
}

Status Check(const Json& config, Schema&) {
  const std::int64_t seq_len = config[kSeqLenKey].AsInt();
  if (seq_len < 1 || seq_len > kMaxSeqLen)
    return Status(Code::kInvalidArgument,
                  StrCat(kSeqLenKey, ": ", seq_len, ": must be from 1 to ", kMaxSeqLen));
  if (config[kSegmentsKey].AsBool() && !HasExamples(EncodingOf(config)))
    return Status(Code::kInvalidArgument,
                  StrCat(kSegmentsKey, ": rows in ", config[kEncodingKey].AsString(),
                         " are ids and nothing else; write `encoding: example` or `array_record`"));
  if (const Json& piece = config[kAnswersAfterKey]; !piece.is_null()) {
    if (piece.AsString().empty())
      return Status(Code::kInvalidArgument, StrCat(kAnswersAfterKey, ": the piece is empty; name one"));
    if (!HasExamples(EncodingOf(config)))
      return Status(Code::kInvalidArgument,
                    StrCat(kAnswersAfterKey, ": rows in ", config[kEncodingKey].AsString(),
                           " have no room for weights; write `encoding: example` or `array_record`"));
  }
  return CheckShardKeys(config);
}

double Padding(const StageCounts& counts) {
  const auto ids = counts.reasons.find(kRowIds), fill = counts.reasons.find(kFillIds);
  if (ids == counts.reasons.end() || fill == counts.reasons.end() || ids->second == 0) return 0;
  return static_cast<double>(fill->second) / static_cast<double>(ids->second);
}

}  // namespace

StageType WritePackedType(const ChooseWeights& weights) {
  StageType type;
  type.name = "write_packed";
  type.help = "Writes rows of token ids, packed without gaps, that language model trainers read.";
  type.keys = {
      {kSeqLenKey, ValueType::kInteger, "", Effect::kBytes,
       "Targets of a row; it has one id more, the first of which is context alone."},
      {kPackingKey,
       ValueType::kChoice,
       kStreamPacking,
       Effect::kBytes,
       "`stream` cuts documents wherever a row ends; `best_fit` cuts those alone that no row holds, and "
       "fills rows up.",
       {kStreamPacking, kBestFitPacking}},
      {kEncodingKey,
       ValueType::kChoice,
       "example",
       Effect::kBytes,
       "How rows lie in shards: TFRecord of Examples, ids of two or four bytes, a Megatron data set, "
       "ArrayRecord.",
       {"example", "raw16", "raw32", "mmap", "array_record"}},
      {kSegmentsKey, ValueType::kBoolean, "false", Effect::kBytes,
       "Whether Examples also have, for each id, the number of its document and its position there."},
      {kAnswersAfterKey, ValueType::kString, "~", Effect::kBytes,
       "A piece of the tokenizer, e.g. <answer>: the loss counts the ids of a document behind its first one, "
       "and no others."},
  };
  AppendShardKeys(type.keys);
  type.gives = Flow::kArtifact;
  type.reads = {"text", "ids", "id_ends"};
  type.named_inputs = {
      {.name = kTokenizerInput,
       .or_file = true,
       .help = "The tokenizer that made the ids; left out, the one of the stage that encoded.",
       .inherited = true}};
  type.reasons = {Tally(std::string(kRowIds), "Ids of all rows, with `packing: best_fit`."),
                  Tally(std::string(kFillIds), "Ids that fill rows; see `padding`."),
                  Tally(StrCat(kScoredOf, "*"), "Targets of the split of that name that the loss counts."),
                  Tally(std::string(kUnscoredDocuments),
                        "Documents that are left out of the loss, because none of their targets is scored.")};
  type.metrics = {{"padding", "Share of the ids that fill rows, with `packing: best_fit`.", Padding}};
  type.check = Check;
  type.check_promised = [check = OfPromisedTokenizer(CheckTokenizer)](
                            const Json& config, const Schema& schema, const Promise& promise) -> Status {
    RETURN_IF_ERROR(check(config, schema, promise));
    return CheckPromisedAnswers(config, promise);
  };
  type.kind = SinkKind{
      .make = [weights](const StageContext& context) { return Make(context, weights); },
      .first_pass_keys = {kSeqLenKey, kPackingKey, kEncodingKey, kSegmentsKey, kAnswersAfterKey, kShuffleKey},
      .names = {IsOwnName, IsReadName}};
  return type;
}

}  // namespace pipeline
