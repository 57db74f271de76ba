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
#include "stages/export/packed/label_answers.h"
#include "stages/export/packed/packed.h"
#include "stages/export/packed/packed_export.h"
#include "stages/export/packed/packed_info.h"
#include "stages/export/packed/packed_sink.h"
#include "stages/export/packed/row_packer.h"
#include "stages/lines/labels.h"
#include "stages/shards/shard_keys.h"
#include "stages/shards/shard_name.h"
#include "stages/tokenizer/tokenizer_facts.h"

namespace pipeline {

namespace {

constexpr std::string_view kSeqLenKey = "seq_len";
constexpr std::string_view kPackingKey = "packing";
constexpr std::string_view kEncodingKey = "encoding";
constexpr std::string_view kSegmentsKey = "segments";

/// A shard of ArrayRecord.
class ArrayRecordForm final : public ShardForm {
 public:
  void Append(std::string_view row, std::string& out) override { writer_.Append(row, out); }
  Status Finish(const PutBytes& put) override {
    std::string end;
    writer_.Finish(end);
    return put(end);
  }

 private:
  ArrayRecordWriter writer_;
};

/// The published form of entries that have a number of scored targets at their end.
class WithoutScored final : public ShardForm {
 public:
  void Append(std::string_view entry, std::string& out) override {
    out.append(entry.substr(0, kPackedEntryBytes));
  }
};

/// The index of a Megatron data set. Holds 4 bytes for each row.
class MegatronForm final : public ShardForm {
 public:
  /// `row_ids`: ids of each row with its padding; 0: an entry has the number.
  MegatronForm(MegatronType type, std::uint32_t row_ids) : writer_(type), row_ids_(row_ids) {}
  void Append(std::string_view entry, std::string&) override {
    writer_.Add(row_ids_ > 0 ? row_ids_ : Decoder(entry.substr(sizeof(std::uint64_t))).U32());
  }
  Status Finish(const PutBytes& put) override { return writer_.Finish(put); }

 private:
  MegatronIndexWriter writer_;
  const std::uint32_t row_ids_;
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
  for (const PackedSplit& split : info.splits) {  // no reader opens an empty file
    if (!info.documents()) break;
    const std::uint64_t documents = split.totals().rows;
    if (documents == 0)
      return Status(Code::kFailedPrecondition,
                    StrCat("split '", split.name,
                           "' has no document with an id of text; give it a larger share, or leave it out"));
    const auto empty = std::count_if(split.shards.begin(), split.shards.end(),
                                     [](const PackedShard& shard) { return shard.totals.rows == 0; });
    if (empty > 0)
      LogWarning(
          StrCat("split '", split.name, "': ", empty, " of its ", split.shards.size(),
                 " shards have no document, and Megatron's reader opens no empty file; give fewer `shards`"));
  }
  if (info.best_fit())
    for (const PackedSplit& split : info.splits)
      LogInfo(StrCat("split '", split.name, "': ", Percent(info.padding(split.totals())),
                     " % of the ids are padding"));
  return PackedInfoJson(info);
}

ShardRules RulesOf(const StageContext& context, const PackedRules& packed, const ArtifactInput& tokenizer,
                   const TokenizerFacts& facts) {
  ShardRules rules = ShardRulesOf(context.config, context.schema.splits);
  PackedInfo info = packed.info;
  if (packed.labels) info.labels = packed.labels->named();
  const PackedEncoding encoding = info.encoding;
  rules.object_name = [encoding](std::string_view split, std::uint32_t number, std::uint32_t count) {
    return PackedShardName(split, number, count, encoding);
  };
  rules.index = ShardIndex{info.weights ? kPackedWeightedNumbers : kPackedIndexNumbers,
                           [encoding](std::string_view split, std::uint32_t number, std::uint32_t count) {
                             return PackedIndexName(split, number, count, encoding);
                           }};
  if (info.weights) rules.index->form = [] { return std::make_unique<WithoutScored>(); };
  if (encoding == PackedEncoding::kMmap)
    rules.index->form = [type = MegatronTypeOf(facts.vocab_size),
                         row_ids = info.documents() ? 0 : info.seq_len + 1] {
      return std::make_unique<MegatronForm>(type, row_ids);
    };
  if (encoding == PackedEncoding::kArrayRecord)
    rules.form = [] { return std::make_unique<ArrayRecordForm>(); };
  rules.describe = [info, weights = packed.weights, tokenizer, facts](
                       const std::vector<Shard>& shards, const std::vector<ShardOutput>& outputs,
                       const std::vector<std::uint64_t>& left_out) -> Result<Sidecars> {
    ASSIGN_OR_RETURN(std::string model, ReadTokenizerModel(tokenizer, facts));
    ASSIGN_OR_RETURN(std::string described, Describe(info, weights, shards, outputs, left_out));
    Sidecars sidecars;
    sidecars.before_manifest.push_back({std::string(kPackedInfoFile), std::move(described)});
    sidecars.before_manifest.push_back({info.tokenizer.model, std::move(model)});
    return sidecars;
  };
  return rules;
}

class WritePacked final : public ShardedStage {
 public:
  WritePacked(const PackedRules& rules, const ShardRules& shards)
      : ShardedStage(shards), rules_(rules), splits_(shards.splits) {}

  /// Makes no rows, because they cross the borders of batches; the Sink makes them in order.
  const Transform* encoder() const override { return rules_.labels.get(); }
  Result<std::unique_ptr<Sink>> OpenPartition(Store& artifact, PartitionId id) const override {
    ASSIGN_OR_RETURN(std::unique_ptr<Sink> rows, ShardedStage::OpenPartition(artifact, id));
    return NewPackedSink(std::move(rows), rules_, splits_);
  }
  std::uint64_t partition_memory(std::uint64_t text_bytes) const override {
    // A row; with segments, also the segment and the position of each id; with weights, that of each id.
    const std::uint64_t lists = (rules_.info.segments ? 3 : 1) + (rules_.info.weights ? 1 : 0);
    const std::uint64_t row = lists * sizeof(std::uint32_t) * (std::uint64_t{rules_.rows.seq_len} + 1);
    return ShardedStage::partition_memory(text_bytes) + row * splits_.size() + PackerMemory(text_bytes);
  }
  Status CheckCounts(const ArtifactTotals& totals) const override {
    RETURN_IF_ERROR(ShardedStage::CheckCounts(totals));
    std::string failures;
    for (const std::string& split : splits_)
      if (rules_.info.weights && !totals.counts.reasons.contains(StrCat(kScoredOf, split)))
        failures += StrCat(failures.empty() ? "" : "; ", NothingScored(split, rules_.weights));
    return failures.empty() ? Status() : Status(Code::kFailedPrecondition, failures);
  }
  Result<std::unique_ptr<Publication>> Plan(Store& artifact,
                                            const std::vector<PartitionOutput>& outputs) const override {
    const auto log = [&outputs](std::string_view reason, std::string_view what) {
      std::uint64_t documents = 0;
      for (const PartitionOutput& output : outputs)
        if (const auto found = output.committed.reasons.find(std::string(reason));
            found != output.committed.reasons.end())
          documents += found->second;
      if (documents > 0) LogInfo(StrCat("documents ", what, ": ", documents));
    };
    log(kUnscoredDocuments, "left out of the loss, without a scored target");
    log(kEmptyDocuments, "left out, without an id of text");
    log(kCutDocuments, "that lost the end of their text, because a row has no room for it");
    return ShardedStage::Plan(artifact, outputs);
  }

 private:
  std::uint64_t PackerMemory(std::uint64_t text_bytes) const {
    if (rules_.info.packing == Packing::kStream) return 0;
    if (!rules_.labels) return BestFitMemory(text_bytes, rules_.info.weights);
    return LabelledMemory(text_bytes, rules_.labels->longest());
  }

  const PackedRules rules_;
  const std::vector<std::string> splits_;
};

PackedEncoding EncodingOf(const Json& config) {
  return PackedEncodingOf(config[kEncodingKey].AsString()).value_or(PackedEncoding::kExample);
}

Packing PackingIn(const Json& config) {
  return PackingOf(config[kPackingKey].AsString()).value_or(Packing::kStream);
}

bool IsOwnName(const Json& config, const std::vector<std::string>& splits, std::string_view object) {
  const PackedEncoding encoding = EncodingOf(config);
  const auto shard = [encoding](std::string_view split, std::uint32_t number, std::uint32_t count) {
    return PackedShardName(split, number, count, encoding);
  };
  const auto index = [encoding](std::string_view split, std::uint32_t number, std::uint32_t count) {
    return PackedIndexName(split, number, count, encoding);
  };
  return IsOneOf(object, {kPackedInfoFile, kPackedModelFile, kBertVocabularyFile}) ||
         IsShardName(object, splits, shard) || IsShardName(object, splits, index);
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

Status CheckRaw16(const Json& config, const TokenizerFacts& facts) {
  if (EncodingOf(config) != PackedEncoding::kRaw16 || facts.vocab_size <= kMostOfRaw16) return {};
  return Status(Code::kFailedPrecondition,
                StrCat("raw16 has room for ids below ", kMostOfRaw16, ", and the tokenizer has ",
                       facts.vocab_size, " pieces; write `encoding: raw32`"));
}

Status CheckTokenizer(const Json& config, const Schema&, const TokenizerFacts& facts) {
  if (KindOf(facts) == TokenizerKind::kVocabulary) {
    if (facts.cls_id >= 0 && facts.sep_id >= 0) return CheckRaw16(config, facts);
    return Status(Code::kFailedPrecondition,
                  StrCat(facts.model, " has no piece ", facts.cls_id < 0 ? "[CLS]" : "[SEP]",
                         ", which begins and ends a document; add both to it, or take another vocab.txt"));
  }
  if (facts.eos_id < 0)
    return Status(Code::kFailedPrecondition,
                  StrCat("write_packed ends documents with the id eos, which a tokenizer of layout '",
                         facts.layout, "' lacks; train one of another layout, such as pipe or flax_lm1b"));
  return CheckRaw16(config, facts);
}

Result<std::unique_ptr<SinkStage>> Make(const StageContext& context, const ChooseWeights& weights) {
  const auto tokenizer = context.artifacts.find(kTokenizerInput);
  if (tokenizer == context.artifacts.end())
    return Status(Code::kFailedPrecondition, "write_packed needs the tokenizer that made its ids");
  ASSIGN_OR_RETURN(const TokenizerFacts facts, ReadTokenizerFacts(tokenizer->second));
  RETURN_IF_ERROR(CheckTokenizer(context.config, context.schema, facts));
  PackedRules rules;
  PackedInfo& info = rules.info;
  info.tokenizer = PackedTokenizer(facts);
  info.encoding = EncodingOf(context.config);
  info.packing = PackingIn(context.config);
  info.segments = context.config[kSegmentsKey].AsBool();
  info.seq_len = static_cast<std::uint32_t>(context.config[kSeqLenKey].AsInt());
  // MaxText accepts eos alone as padding in this format.
  const bool eos_fills = facts.pad_id < 0 || info.encoding == PackedEncoding::kMmap;
  info.fill_id = static_cast<std::uint32_t>(eos_fills ? info.tokenizer.eos_id : facts.pad_id);
  rules.rows = info.rules(HasLabels(context.config));
  ASSIGN_OR_RETURN(rules.weights, (weights ? weights : ChooseAnswersAlone)(context, facts));
  info.weights = rules.weights.open != nullptr;
  ASSIGN_OR_RETURN(rules.labels, ChooseLabels(context, facts, rules.rows));
  if (rules.labels) {
    rules.weights = {{}, "none of its rows has a document with a label; give it more documents"};
    info.weights = true;
    info.number_labels = rules.labels->named().empty();
  }
  return std::make_unique<WritePacked>(rules, RulesOf(context, rules, tokenizer->second, facts));
}

/// Checks what labels need of the other keys.
Status CheckLabelledRows(const Json& config) {
  const auto refused = [](std::string_view why) {
    return Status(Code::kInvalidArgument, StrCat("labels: ", why));
  };
  if (!HasLabels(config)) return {};
  if (config.Has(kAnswersAfterKey))
    return refused(StrCat("beside ", kAnswersAfterKey,
                          ": the answer to a document with a label is its label; ",
                          "leave one of the two out"));
  if (!HasExamples(EncodingOf(config)))
    return refused(StrCat("rows in ", config[kEncodingKey].AsString(),
                          " have no room for weights; write `encoding: example` or `array_record`"));
  if (PackingIn(config) != Packing::kBestFit)
    return refused(
        "a label stands in one row with its document, and `packing: stream` cuts documents; write "
        "`packing: best_fit`");
  return {};
}

/// Checks what documents need of the other keys: none about rows may be there.
Status CheckDocuments(const Json& config) {
  if (EncodingOf(config) != PackedEncoding::kMmap)
    return Status(Code::kInvalidArgument,
                  StrCat(kPackingKey,
                         ": documents are the sequences of a Megatron data set; write "
                         "`encoding: mmap`, or make rows with `packing: stream`"));
  for (const std::string_view key : {kSeqLenKey, kSegmentsKey, kAnswersAfterKey, std::string_view("labels"),
                                     std::string_view("labels_file"), std::string_view("on_unknown_label"),
                                     std::string_view("equal"), std::string_view("eval_batch")})
    if (config.Has(key) && config[key] != Json(false))
      return Status(Code::kInvalidArgument,
                    StrCat(key,
                           ": is about rows, and `packing: documents` makes none; leave it out, or make "
                           "rows with `packing: stream` or `best_fit`"));
  return CheckShardKeys(config);
}

Status Check(const Json& config, Schema& schema) {
  if (PackingIn(config) == Packing::kDocuments) return CheckDocuments(config);
  if (!config.Has(kSeqLenKey))
    return Status(
        Code::kInvalidArgument,
        StrCat(kSeqLenKey, ": is missing, and rows need a length; write `", kSeqLenKey,
               ": 1024`, for example, or documents with `packing: documents` and `encoding: mmap`"));
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
  RETURN_IF_ERROR(CheckPackedLabelKeys(config, schema));
  RETURN_IF_ERROR(CheckLabelledRows(config));
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
  type.help = "Writes rows of token ids, or whole documents of them, that language model trainers read.";
  type.keys = {
      {kSeqLenKey, ValueType::kInteger, "~",
       "Targets of a row; it has one id more, the first of which is context alone. Rows need it."},
      Choice(
          kPackingKey, kStreamPacking, {kStreamPacking, kBestFitPacking, kDocumentsPacking},
          "`stream` cuts documents wherever a row ends; `best_fit` cuts those alone that no row holds, and "
          "fills rows up; `documents` makes no rows: each document is a sequence, for `encoding: mmap`."),
      Choice(kEncodingKey, "example", {"example", "raw16", "raw32", "mmap", "array_record"},
             "How ids lie in shards: TFRecord of Examples, ids of two or four bytes, a Megatron data set, "
             "ArrayRecord."),
      {kSegmentsKey, ValueType::kBoolean, "false",
       "Whether Examples also have, for each id, the number of its document and its position there."},
      {kAnswersAfterKey, ValueType::kString, "~",
       "A piece of the tokenizer, e.g. <answer>: only the ids of a document behind its first one are "
       "scored."},
  };
  for (ConfigKey& key : PackedLabelKeys()) type.keys.push_back(std::move(key));
  AppendShardKeys(type.keys);
  type.gives = Flow::kArtifact;
  type.reads = {"text", "ids", "id_ends"};
  type.named_inputs = {TokenizerOfIds()};
  type.reasons = {Tally(std::string(kRowIds), "Ids of all rows, with `packing: best_fit`."),
                  Tally(std::string(kFillIds), "Ids that fill rows; see `padding`."),
                  Tally(StrCat(kScoredOf, "*"), "Targets of the split of that name that the loss counts."),
                  Tally(std::string(kUnscoredDocuments),
                        "Documents that are left out of the loss, because none of their targets is scored."),
                  Tally(std::string(kEmptyDocuments),
                        "Documents that are left out, because they have no id of text, with `packing: "
                        "documents`."),
                  UnknownLabelReason(),
                  Tally(std::string(kCutDocuments),
                        "Documents with a label that lost the end of their text, because a row has no room "
                        "for it.")};
  type.metrics = {{"padding", "Share of the ids that fill rows, with `packing: best_fit`.", Padding}};
  type.check = Check;
  type.prepare = [](const Json& config) { return PackedLabelNames(config).status(); };
  type.files = LabelFiles;
  type.check_promised = [check = OfPromisedTokenizer(CheckTokenizer)](
                            const Json& config, const Schema& schema, const Promise& promise) -> Status {
    RETURN_IF_ERROR(check(config, schema, promise));
    return CheckPromisedAnswers(config, promise);
  };
  type.kind = SinkKind{.make = [weights](const StageContext& context) { return Make(context, weights); },
                       .first_pass_keys = {kSeqLenKey, kPackingKey, kEncodingKey, kSegmentsKey,
                                           kAnswersAfterKey, "labels", "on_unknown_label", kShuffleKey},
                       .first_pass_of = AddCutsCorpus,
                       .names = {IsOwnName, IsReadName}};
  return type;
}

}  // namespace pipeline
