#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <utility>

#include "base/digest.h"
#include "base/str.h"
#include "dag/pipeline_file/mistake.h"
#include "formats/coding.h"
#include "stages/export/jsonl/jsonl.h"
#include "stages/export/jsonl/jsonl_export.h"
#include "stages/shards/made_rows.h"
#include "stages/shards/shard_keys.h"
#include "stages/shards/shard_name.h"
#include "stages/shards/sharded_stage.h"
#include "text/span_corruption.h"

namespace pipeline {

namespace {

constexpr std::string_view kLabel = "label";             // the column, and by default its member
constexpr std::uint64_t kCorruptionSeed = 0x7370616e73;  // "spans"

bool ByDocument(const Json& config) { return config["unit"].AsString() == "document"; }

/// A field of the records and the member that holds it.
struct FieldMember {
  std::size_t field = 0;
  std::string member;
};

/// Returns the members in the order of the fields; empty: the records have none. If the key is absent, each
/// member has the name of its column.
std::vector<FieldMember> FieldMembers(const Json& config, const Schema& schema) {
  std::vector<FieldMember> members;
  for (std::size_t field = 0; field < schema.field_names.size(); ++field) {
    if (!config.Has("fields")) members.push_back({field, schema.field_names[field]});
    for (const auto& [member, column] : config["fields"].AsObject())
      if (column.AsString() == schema.field_names[field]) members.push_back({field, member});
  }
  return members;
}

bool HasLabels(const Schema& schema) { return schema.columns.count(kLabel) != 0; }

/// Makes one row of each record.
class RowWorker final : public Worker {
 public:
  /// `fields` is empty if the text is one member.
  RowWorker(const JsonlRow& row, const std::vector<FieldMember>& fields, bool labelled)
      : row_(row), fields_(fields), labelled_(labelled) {}

  Status Apply(Batch& batch, std::uint32_t stage, StageCounts& counts) override {
    batch.payload.Clear();
    if (labelled_) DropUnlabelled(batch, stage, counts);
    for (std::size_t row = 0; row < batch.size(); ++row) {
      std::string& out = batch.payload.open_row();
      const std::string_view text = batch.text[row];
      std::size_t member = 0;
      if (fields_.empty()) {
        out += row_.before(member++);
        AppendJsonText(out, text);
      }
      for (const FieldMember& field : fields_) {
        const std::span<const std::uint32_t> ends = batch.fields[row];
        const std::size_t begin = field.field == 0 ? 0 : ends[field.field - 1] + std::size_t{1};
        out += row_.before(member++);
        AppendJsonText(out, text.substr(begin, ends[field.field] - begin));
      }
      if (labelled_) {
        out += row_.before(member);
        AppendJsonText(out, batch.label[row]);
      }
      out += row_.after();
      batch.payload.CloseRow();
    }
    return {};
  }

 private:
  void DropUnlabelled(Batch& batch, std::uint32_t stage, StageCounts& counts) {
    kept_.clear();
    for (std::size_t row = 0; row < batch.size(); ++row) {
      if (!batch.label[row].empty()) {
        kept_.push_back(static_cast<std::uint32_t>(row));
        continue;
      }
      const RecordHead& head = batch.heads[row];
      counts.Add("dropped_no_label");
      batch.quarantine.push_back(
          {stage, head.index, head.sub, "dropped_no_label", std::string(batch.text[row])});
    }
    if (kept_.size() < batch.size()) batch.Keep(kept_);
  }

  const JsonlRow& row_;
  const std::vector<FieldMember>& fields_;
  const bool labelled_;
  std::vector<std::uint32_t> kept_;
};

/// Encodes the text between the quotes; the rest of the row is added when the document is complete.
class LineWorker final : public Worker {
 public:
  Status Apply(Batch& batch, std::uint32_t, StageCounts&) override {
    batch.payload.Clear();
    for (std::size_t row = 0; row < batch.size(); ++row) {
      AppendJsonText(batch.payload.open_row(), batch.text[row]);
      batch.payload.CloseRow();
    }
    return {};
  }
};

/// The numbers that the pairs of one record may have.
struct PairNumbers {
  std::uint32_t first = 0;
  std::uint32_t count = 0;  // 0: there are none left
};

/// Returns the numbers of part `sub` of a record that was read: each part has a range of its own, in the
/// order of the parts. Each of the first 32768 parts may become 65536 pairs, each other part 64.
PairNumbers PairNumbersOf(std::uint32_t sub) {
  constexpr std::uint32_t kFirstParts = 1 << 15, kOfFirst = 1 << 16, kOfOthers = 1 << 6;
  constexpr std::uint32_t kHalf = kFirstParts * kOfFirst;  // of all numbers
  if (sub < kFirstParts) return {sub * kOfFirst, kOfFirst};
  const std::uint32_t other = sub - kFirstParts;
  if (other >= kHalf / kOfOthers) return {};
  return {kHalf + other * kOfOthers, kOfOthers};
}

/// Makes pairs of source and target.
class PairWorker final : public Worker {
 public:
  PairWorker(const JsonlRow& row, const SpanCorruption& corruption, std::uint64_t seed)
      : row_(row), corruption_(corruption), seed_(seed) {}

  Status Apply(Batch& batch, std::uint32_t stage, StageCounts& counts) override {
    batch.payload.Clear();
    made_.clear();
    subs_.clear();
    for (std::size_t row = 0; row < batch.size(); ++row) {
      const std::string_view text = batch.text[row];
      const bool marked = text.find(kSentinelMark) != std::string_view::npos;
      const RecordHead& head = batch.heads[row];
      std::vector<SpanPair> pairs;
      if (!marked) pairs = corruption_.Pairs(text, UnitEnds(text, EndsOf(batch, row)), KeyOf(batch, head));
      if (pairs.empty()) {
        const std::string_view reason = marked ? "dropped_sentinel" : "dropped_one_unit";
        counts.Add(reason);
        batch.quarantine.push_back({stage, head.index, head.sub, std::string(reason), std::string(text)});
      }
      const PairNumbers numbers = PairNumbersOf(head.sub);
      if (pairs.size() > numbers.count) {
        batch.failed_index = head.index;
        return Status(
            Code::kResourceExhausted,
            StrCat(head.sub == 0 ? "it" : StrCat("part ", head.sub, " of it"), " becomes ", pairs.size(),
                   " pairs, more than ", numbers.count, "; filter such lines out, or cut them"));
      }
      for (std::size_t at = 0; at < pairs.size(); ++at) {
        made_.push_back(static_cast<std::uint32_t>(row));
        subs_.push_back(static_cast<std::uint32_t>(numbers.first + at));
        Append(batch.payload, pairs[at]);
      }
    }
    batch.cuts.Clear(), batch.ids.Clear(), batch.id_ends.Clear();  // the units are in the pairs now
    batch.Repeat(made_);
    for (std::size_t row = 0; row < batch.size(); ++row) batch.heads[row].sub = subs_[row];
    return {};
  }

 private:
  /// Returns the ends of pieces if the records have ids, else of morphemes if they have cuts, else of words.
  std::span<const std::uint32_t> EndsOf(const Batch& batch, std::size_t row) {
    if (!batch.id_ends.empty()) return batch.id_ends[row];
    if (!batch.cuts.empty()) return batch.cuts[row];
    ends_.clear();
    WordEnds(batch.text[row], ends_);
    return ends_;
  }

  /// Returns a key for each record that does not depend on the other records.
  std::uint64_t KeyOf(const Batch& batch, const RecordHead& head) {
    origin_.clear();
    PutU32(origin_, batch.partition.input), PutU32(origin_, batch.partition.partition);
    PutU64(origin_, head.index), PutU32(origin_, head.sub), PutU64(origin_, seed_);
    return Hash64(origin_, kCorruptionSeed);
  }

  void Append(BytesColumn& payload, const SpanPair& pair) const {
    std::string& out = payload.open_row();
    out += row_.before(0);
    AppendJsonText(out, pair.source);
    out += row_.before(1);
    AppendJsonText(out, pair.target);
    out += row_.after();
    payload.CloseRow();
  }

  const JsonlRow& row_;
  const SpanCorruption& corruption_;
  const std::uint64_t seed_;
  std::vector<std::uint32_t> ends_;
  std::string origin_;
  std::vector<std::uint32_t> made_, subs_;  // for each pair: its row, and its number among the pairs
};

SpanRules SpanRulesOf(const Json& config) {
  SpanRules rules;
  rules.noise = config["noise"].AsDouble(rules.noise);
  rules.mean_span = config["mean_span"].AsDouble(rules.mean_span);
  const std::int64_t most = config["max_source"].AsInt(rules.max_source);
  rules.max_source = most < 0 || most > UINT32_MAX ? 0 : static_cast<std::uint32_t>(most);
  return rules;
}

class Encoder final : public Transform {
 public:
  Encoder(const Json& config, const Schema& schema)
      : labelled_(HasLabels(schema)),
        by_document_(ByDocument(config)),
        fields_(FieldMembers(config, schema)),
        row_(JsonlMembers(config, schema)),
        seed_(static_cast<std::uint64_t>(config["seed"].AsInt())) {
    if (CorruptsSpans(config)) corruption_.emplace(SpanRulesOf(config));
  }
  Result<std::unique_ptr<Worker>> NewWorker() const override {
    std::unique_ptr<Worker> worker;
    if (corruption_)
      worker = std::make_unique<PairWorker>(row_, *corruption_, seed_);
    else if (by_document_)
      worker = std::make_unique<LineWorker>();
    else
      worker = std::make_unique<RowWorker>(row_, fields_, labelled_);
    return worker;
  }
  const JsonlRow& row() const { return row_; }

 private:
  const bool labelled_, by_document_;
  const std::vector<FieldMember> fields_;
  const JsonlRow row_;
  const std::uint64_t seed_;  // of the corruption
  std::optional<SpanCorruption> corruption_;
};

ShardRules RulesOf(const StageContext& context) {
  ShardRules rules = ShardRulesOf(context.config, context.schema.splits);
  rules.auto_shards = [](std::uint64_t, std::uint64_t) { return 1u; };
  rules.object_name = std::bind_front(JsonlObjectName, context.config);
  if (ByDocument(context.config)) rules.index.emplace();  // rows are not the records of the input
  rules.describe = [](const std::vector<Shard>&, const std::vector<ShardOutput>&,
                      const std::vector<std::uint64_t>&) { return Result<Sidecars>(Sidecars{}); };
  return rules;
}

bool IsOwnName(const Json& config, const std::vector<std::string>& splits, std::string_view object) {
  return IsShardName(object, splits, std::bind_front(JsonlObjectName, std::cref(config)));
}

/// If a split has several files, users name them to loaders by a pattern such as `train-*.json`.
bool IsReadName(const Json& config, const std::vector<std::string>& splits, std::string_view object) {
  return std::any_of(splits.begin(), splits.end(), [&](const std::string& split) {
    return IsLike(object, StrCat(JsonlFileOf(config, split), "-"), ".json");
  });
}

class WriteJsonl final : public ShardedStage {
 public:
  explicit WriteJsonl(const StageContext& context)
      : ShardedStage(RulesOf(context)),
        encoder_(context.config, context.schema),
        by_document_(ByDocument(context.config)) {}

  const Transform* encoder() const override { return &encoder_; }
  Result<std::unique_ptr<Sink>> OpenPartition(Store& artifact, PartitionId id) const override {
    ASSIGN_OR_RETURN(std::unique_ptr<Sink> rows, ShardedStage::OpenPartition(artifact, id));
    if (!by_document_) return rows;
    DocumentRules rules;
    rules.between = "\\n";
    rules.finish = [this](std::string_view joined, std::string& row) {
      row.append(encoder_.row().before(0)).append(joined).append(encoder_.row().after());
      return Status();
    };
    return NewDocumentSink(std::move(rows), std::move(rules));
  }

 private:
  const Encoder encoder_;
  const bool by_document_;
};

Status Wrong(std::string why) { return Status(Code::kInvalidArgument, std::move(why)); }

Status CheckNames(const Json& config, const Schema& schema) {
  for (const auto& [split, name] : config["names"].AsObject()) {
    if (std::find(schema.splits.begin(), schema.splits.end(), split) == schema.splits.end())
      return Wrong(StrCat("names: there is no split '", split, "'", NamesLike(split, schema.splits)));
    const std::string_view file = name.AsString();
    if (file.empty() ||
        file.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") !=
            std::string_view::npos)
      return Wrong(
          StrCat("names: ", split, ": must be a name of letters, digits, '_' and '-', without .json"));
  }
  std::set<std::string> files;
  for (const std::string& split : schema.splits)
    if (!files.insert(JsonlFileOf(config, split)).second)
      return Wrong(StrCat("names: two splits would have the file ", JsonlFileOf(config, split), ".json"));
  return {};
}

Status CheckFields(const Json& config, const Schema& schema) {
  const bool fields = !schema.field_names.empty();
  if (config.Has("fields") && !fields)
    return Wrong(
        "fields: the records that come in have none; a stage that reads rows makes them, with `columns: "
        "fields`");
  if (fields && (CorruptsSpans(config) || ByDocument(config) || config.Has("text_field")))
    return Wrong(
        "records with several fields become one row with a member for each: leave out `task`, `unit` and "
        "`text_field`");
  for (const auto& [member, column] : config["fields"].AsObject())
    if (std::find(schema.field_names.begin(), schema.field_names.end(), column.AsString()) ==
        schema.field_names.end())
      return Wrong(StrCat("fields: ", member, ": the records have no field '", column.AsString(), "'"));
  if (fields && FieldMembers(config, schema).empty()) return Wrong("fields: an empty map; name at least one");
  return {};
}

Status CheckMembers(const Json& config, const Schema& schema) {
  const bool pairs = CorruptsSpans(config);
  if (pairs && (config.Has("text_field") || config.Has("label_field")))
    return Wrong(StrCat("text_field and label_field: rows for span corruption have the members ",
                        kJsonlSource, " and ", kJsonlTarget));
  if (!pairs && config.Has("label_field") && !HasLabels(schema))
    return Wrong(
        "label_field: the records that come in have no labels; map a column with the key `label` of a stage "
        "that reads rows");
  if (ByDocument(config) && pairs) return Wrong("unit: spans are corrupted line by line; leave the key out");
  if (ByDocument(config) && HasLabels(schema))
    return Wrong("unit: a record with a label is a row by itself; leave the key out");
  RETURN_IF_ERROR(CheckFields(config, schema));
  std::set<std::string> seen;
  for (const std::string& member : JsonlMembers(config, schema)) {
    if (member.empty()) return Wrong("text_field, label_field and fields: a member needs a name");
    if (!seen.insert(member).second) return Wrong(StrCat("two members would be named '", member, "'"));
  }
  return {};
}

Status Check(const Json& config, Schema& schema) {
  RETURN_IF_ERROR(CheckMembers(config, schema));
  RETURN_IF_ERROR(CheckNames(config, schema));
  if (CorruptsSpans(config)) {
    RETURN_IF_ERROR(CheckSpanRules(SpanRulesOf(config)));
    if (config["seed"].AsInt() < 0) return Wrong("seed: must be 0 or more");
  } else {
    for (const std::string_view key : {"noise", "mean_span", "max_source", "seed"})
      if (config.Has(key)) return Wrong(StrCat(key, ": has a meaning with `task: span_corruption` only"));
  }
  return CheckShardKeys(config);
}

}  // namespace

bool CorruptsSpans(const Json& config) { return config["task"].AsString() == "span_corruption"; }

std::vector<std::string> JsonlMembers(const Json& config, const Schema& schema) {
  if (CorruptsSpans(config)) return {std::string(kJsonlSource), std::string(kJsonlTarget)};
  std::vector<std::string> members;
  for (FieldMember& field : FieldMembers(config, schema)) members.push_back(std::move(field.member));
  if (members.empty()) members.emplace_back(config["text_field"].AsString("text"));
  if (HasLabels(schema)) members.emplace_back(config["label_field"].AsString(kLabel));
  return members;
}

std::string JsonlFileOf(const Json& config, std::string_view split) {
  const std::string_view usual = split == "validation" ? "val" : split;
  return std::string(config["names"][split].AsString(usual));
}

std::string JsonlObjectName(const Json& config, std::string_view split, std::uint32_t number,
                            std::uint32_t count) {
  return JsonlShardName(JsonlFileOf(config, split), number, count);
}

StageType WriteJsonlType() {
  StageType type;
  type.name = "write_jsonl";
  type.help = "Writes JSON Lines: train.json, val.json and a file for each other split.";
  type.keys = {
      {"text_field", ValueType::kString, "~", "The member that holds the text; `text` without it."},
      {"fields", ValueType::kMap, "~",
       "Where records have fields: the members of a row and the field that each holds; without it all, by "
       "name."},
      {"label_field", ValueType::kString, "~",
       "The member that holds the label of records that have one; `label` without it."},
      Choice("unit", "record", {"record", "document"},
             "The content of a row: a record, or a document, with its records as lines of the text."),
      Choice("task", "text", {"text", "span_corruption"},
             "The task of the rows: text as it is, or pairs of source and target for T5's span corruption."),
      {"noise", ValueType::kNumber, "~",
       "Span corruption: share of a line that sentinels stand for; 0.15 without it."},
      {"mean_span", ValueType::kNumber, "~",
       "Span corruption: pieces, morphemes or words of a span; 3 without it."},
      {"max_source", ValueType::kInteger, "~",
       "Span corruption: the longest source, in those; a longer line becomes several pairs; 512 without it."},
      {"seed", ValueType::kInteger, "~", "Span corruption: which spans; 0 without it."},
      {"names", ValueType::kMap, "~",
       "Names of files by split, without .json; without it `val` for validation, the split's own for "
       "others."},
  };
  AppendShardKeys(type.keys);
  for (ConfigKey& key : type.keys)
    if (key.name == "shards")
      key.help = "Files of each split, numbered where there are several; `auto` is one.";
  type.gives = Flow::kArtifact;
  type.reads = {"text"};
  type.reasons = {Drop("dropped_no_label", "Its label is empty."),
                  Drop("dropped_one_unit", "Span corruption: it has nothing to take a span out of."),
                  Drop("dropped_sentinel", "Span corruption: its text holds a sentinel.")};
  type.check = Check;
  type.kind = SinkKind{.make = [](const StageContext& context) -> Result<std::unique_ptr<SinkStage>> {
                         return std::make_unique<WriteJsonl>(context);
                       },
                       .first_pass_keys = {kShuffleKey, "text_field", "fields", "label_field", "unit", "task",
                                           "noise", "mean_span", "max_source", "seed"},
                       .first_pass_of = AddCutsCorpus,
                       .names = {IsOwnName, IsReadName}};
  return type;
}

}  // namespace pipeline
