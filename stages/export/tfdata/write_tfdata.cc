#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <utility>

#include "base/str.h"
#include "dag/pipeline_file/mistake.h"
#include "formats/coding.h"
#include "stages/export/tfdata/tfdata.h"
#include "stages/export/tfdata/tfdata_export.h"
#include "stages/shards/made_rows.h"
#include "stages/shards/shard_keys.h"
#include "stages/shards/shard_name.h"
#include "stages/shards/shard_ranges.h"
#include "stages/shards/sharded_stage.h"

namespace pipeline {

namespace {

// Bytes of text for one id, in Japanese and English alike, with 32,000 pieces; for the forecast alone.
constexpr double kTextPerId = 4.5;

struct IdRules {
  std::string eos;  // where an eos id is added: "document", "line", "none"
  std::uint32_t eos_id = 0;
  std::uint32_t vocab_size = 0;
  std::size_t width = 4;  // bytes of an id in a payload
};

/// Writes ids as elements of a snapshot.
class ElementForm final : public ShardForm {
 public:
  explicit ElementForm(std::size_t width) : width_(width) {}
  void Append(std::string_view packed, std::string& out) override {
    AppendTfdataElements(out, packed, width_);
  }

 private:
  const std::size_t width_;
};

/// Packs the ids of each record into its payload.
class IdWorker final : public Worker {
 public:
  explicit IdWorker(const IdRules& rules) : rules_(rules) {}

  Status Apply(Batch& batch, std::uint32_t, StageCounts&) override {
    batch.payload.Clear();
    if (batch.ids.size() != batch.size())
      return Status(Code::kInternal,
                    StrCat("ids: ", batch.ids.size(), " lists for ", batch.size(), " records"));
    const bool by_line = rules_.eos == "line";
    for (std::size_t row = 0; row < batch.size(); ++row) {
      const std::span<const std::uint32_t> ids = batch.ids[row];
      if (const auto highest = std::max_element(ids.begin(), ids.end());
          highest != ids.end() && *highest >= rules_.vocab_size) {
        batch.failed_index = batch.heads[row].index;
        return Status(Code::kInvalidArgument,
                      StrCat("an id is ", *highest, " and the tokenizer has ", rules_.vocab_size,
                             " pieces: the ids were made by another tokenizer"));
      }
      PackIds(batch.payload.open_row(), ids, rules_.width);
      if (by_line) PackIds(batch.payload.open_row(), {&rules_.eos_id, 1}, rules_.width);
      batch.payload.CloseRow();
    }
    return {};
  }

 private:
  const IdRules& rules_;
};

class IdPacker final : public Transform {
 public:
  explicit IdPacker(const IdRules& rules) : rules_(rules) {}
  Result<std::unique_ptr<Worker>> NewWorker() const override { return std::make_unique<IdWorker>(rules_); }

 private:
  const IdRules& rules_;
};

/// `info` has the tokenizer; this function adds the splits, which it makes of the shards.
Sidecars Describe(TfdataInfo info, std::string model, const std::vector<Shard>& shards,
                  const std::vector<ShardOutput>& outputs) {
  Sidecars sidecars;
  for (std::size_t at = 0; at < shards.size(); ++at) {
    if (info.splits.empty() || info.splits.back().name != shards[at].split)
      info.splits.push_back({shards[at].split, {}});
    const std::string directory(TfdataDirectoryOf(shards[at].object));
    const std::string run_id = TfdataRunId(directory, info.tokenizer.model_digest);
    const std::uint64_t ids = outputs[at].sums.front();
    info.splits.back().directories.push_back({directory, run_id, ids, outputs[at].records});
    sidecars.before_manifest.push_back(
        {StrCat(directory, "/", kTfdataMetadataFile), TfdataMetadataBytes({run_id, ids})});
    // A directory without this file cannot be loaded, so that no part of an unfinished data set looks
    // complete.
    sidecars.after_manifest.push_back({StrCat(directory, "/", kTfdataSpecFile), TfdataSpec()});
  }
  sidecars.before_manifest.push_back({std::string(kTfdataInfoFile), TfdataInfoJson(info)});
  sidecars.before_manifest.push_back({std::string(kTfdataModelFile), std::move(model)});
  return sidecars;
}

ShardRules RulesOf(const StageContext& context, const ArtifactInput& tokenizer, const TokenizerFacts& facts,
                   const IdRules& ids) {
  ShardRules rules = ShardRulesOf(context.config, context.schema.splits);
  rules.others_whole = true;
  rules.index = ShardIndex{1, {}};  // the number of ids of each document
  rules.growth = static_cast<double>(kTfdataElementBytes) / static_cast<double>(ids.width);
  rules.form = [width = ids.width] { return std::make_unique<ElementForm>(width); };
  rules.object_name = [config = context.config, digest = facts.model_digest](
                          std::string_view split, std::uint32_t number, std::uint32_t count) {
    const std::string directory = TfdataShardDirectory(config, split, number, count);
    return TfdataSnapshotName(directory, TfdataRunId(directory, digest));
  };
  TfdataInfo info;
  info.eos = ids.eos;
  info.tokenizer = facts;
  info.tokenizer.model = kTfdataModelFile;
  rules.describe = [info, tokenizer, facts](const std::vector<Shard>& shards,
                                            const std::vector<ShardOutput>& outputs,
                                            const std::vector<std::uint64_t>&) -> Result<Sidecars> {
    ASSIGN_OR_RETURN(std::string model, ReadTokenizerModel(tokenizer, facts));
    return Describe(info, std::move(model), shards, outputs);
  };
  return rules;
}

bool IsOwnDirectory(const Json& config, const std::vector<std::string>& splits, std::string_view directory) {
  return IsShardName(directory, splits, std::bind_front(TfdataShardDirectory, std::cref(config)));
}

bool IsOwnName(const Json& config, const std::vector<std::string>& splits, std::string_view object) {
  if (IsOneOf(object, {kTfdataInfoFile, kTfdataModelFile})) return true;
  const std::size_t slash = object.find('/');
  if (slash == std::string_view::npos || !IsOwnDirectory(config, splits, object.substr(0, slash)))
    return false;
  return IsOneOf(object.substr(slash + 1), {kTfdataSpecFile, kTfdataMetadataFile}) ||
         !TfdataDirectoryOf(object).empty();
}

/// Loaders read all files of a directory, and find the directories of train by a pattern:
/// stages/export/tfdata/tfdata.md.
bool IsReadName(const Json& config, const std::vector<std::string>& splits, std::string_view object) {
  const std::size_t slash = object.find('/');
  if (slash == std::string_view::npos) return false;
  const std::string_view directory = object.substr(0, slash);
  return IsOwnDirectory(config, splits, directory) ||
         (IsLike(directory, StrCat(config["name"].AsString(), "-"), "") &&
          directory.find("-of-") != std::string_view::npos);
}

class WriteTfdata final : public ShardedStage {
 public:
  WriteTfdata(IdRules rules, const ShardRules& shards, std::uint64_t eval_ids)
      : ShardedStage(shards),
        rules_(std::move(rules)),
        packer_(rules_),
        splits_(shards.splits),
        eval_ids_(eval_ids) {}

  const Transform* encoder() const override { return &packer_; }
  Result<std::unique_ptr<Sink>> OpenPartition(Store& artifact, PartitionId id) const override {
    ASSIGN_OR_RETURN(std::unique_ptr<Sink> rows, ShardedStage::OpenPartition(artifact, id));
    DocumentRules documents;
    documents.finish = [this](std::string_view joined, std::string& row) -> Status {
      const bool eos = rules_.eos == "document";
      const std::uint64_t ids = joined.size() / rules_.width + (eos ? 1 : 0);
      if (ids > UINT32_MAX)
        return Status(Code::kResourceExhausted,
                      StrCat("a document has ", ids, " ids; cut it where it is read"));
      PutU32(row, static_cast<std::uint32_t>(ids));
      row += joined;
      if (eos) PackIds(row, {&rules_.eos_id, 1}, rules_.width);
      return {};
    };
    return NewDocumentSink(std::move(rows), std::move(documents));
  }

  Status CheckCounts(const ArtifactTotals& totals) const override {
    std::string failures;
    for (const std::string& split : splits_) {
      const auto found = totals.splits.find(split);
      const ArtifactTotals::Split total =
          found == totals.splits.end() ? ArtifactTotals::Split() : found->second;
      const std::uint64_t ids = total.bytes / rules_.width + (rules_.eos == "document" ? total.documents : 0);
      const std::uint64_t needed = split == kTrainSplit ? 1 : std::max<std::uint64_t>(eval_ids_, 1);
      if (ids >= needed) continue;
      failures +=
          StrCat(failures.empty() ? "" : "; ", "split '", split, "' has ", ids, " ids and needs ", needed,
                 needed > 1 ? " for one batch of evaluation" : "", ": give it a larger share");
    }
    return failures.empty() ? Status() : Status(Code::kFailedPrecondition, failures);
  }

 private:
  const IdRules rules_;
  const IdPacker packer_;
  const std::vector<std::string> splits_;
  const std::uint64_t eval_ids_;  // the fewest ids of a split other than train
};

Status CheckTokenizer(const Json& config, const Schema&, const TokenizerFacts& facts) {
  const std::string_view eos = config["eos"].AsString("document");
  if (eos != "none" && facts.eos_id < 0)
    return Status(
        Code::kFailedPrecondition,
        StrCat("write_tfdata ends each ", eos, " with the id eos, which a tokenizer of layout '",
               facts.layout, "' lacks; train one of another layout, such as jestimator, or set eos: none"));
  if (facts.vocab_size > INT32_MAX)
    return Status(Code::kFailedPrecondition,
                  StrCat("the tokenizer has ", facts.vocab_size, " pieces, and an id is an int32"));
  return {};
}

Result<std::unique_ptr<SinkStage>> Make(const StageContext& context) {
  const auto tokenizer = context.artifacts.find(kTokenizerInput);
  if (tokenizer == context.artifacts.end())
    return Status(Code::kFailedPrecondition, "write_tfdata needs the tokenizer that made its ids");
  ASSIGN_OR_RETURN(const TokenizerFacts facts, ReadTokenizerFacts(tokenizer->second));
  RETURN_IF_ERROR(CheckTokenizer(context.config, context.schema, facts));
  IdRules rules;
  rules.eos = context.config["eos"].AsString("document");
  rules.vocab_size = facts.vocab_size;
  rules.width = PackedIdBytes(facts.vocab_size);
  if (rules.eos != "none") rules.eos_id = static_cast<std::uint32_t>(facts.eos_id);
  const auto eval_ids = static_cast<std::uint64_t>(context.config["eval_ids"].AsInt());
  const ShardRules shards = RulesOf(context, tokenizer->second, facts, rules);
  return std::make_unique<WriteTfdata>(std::move(rules), shards, eval_ids);
}

Status Wrong(std::string why) { return Status(Code::kInvalidArgument, std::move(why)); }

/// Returns whether a glob of JEstimator can have this name.
bool IsDirectoryName(std::string_view name) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  return !name.empty() && name.front() != '.' && name.find_first_not_of(kLetters) == std::string_view::npos;
}

Status Check(const Json& config, Schema& schema) {
  constexpr std::string_view kRule = "must be a name of letters, digits, '_', '-' and '.'";
  if (!IsDirectoryName(config["name"].AsString())) return Wrong(StrCat("name: ", kRule));
  for (const auto& [split, name] : config["names"].AsObject()) {
    if (std::find(schema.splits.begin(), schema.splits.end(), split) == schema.splits.end())
      return Wrong(StrCat("names: there is no split '", split, "'", NamesLike(split, schema.splits)));
    if (split == kTrainSplit)
      return Wrong("names: the directories of train are named by `name` and numbered");
    if (!IsDirectoryName(name.AsString())) return Wrong(StrCat("names: ", split, ": ", kRule));
  }
  std::set<std::string> directories = {std::string(kTfdataInfoFile), std::string(kTfdataModelFile)};
  for (const std::string& split : schema.splits)
    if (!directories.insert(TfdataShardDirectory(config, split, 0, 1)).second)
      return Wrong(StrCat("names: '", TfdataShardDirectory(config, split, 0, 1), "' is used twice"));
  if (config["eval_ids"].AsInt() < 0) return Wrong("eval_ids: must be 0 or more");
  if (!config[kShuffleKey].is_object())
    return Wrong(
        "shuffle: none: the trainer shuffles windows of 512 ids among neighbours alone; documents have to "
        "come "
        "shuffled, give {seed: 0}");
  return CheckShardKeys(config);
}

std::uint64_t PublishedBytes(const Json&, std::uint64_t text_bytes) {
  return static_cast<std::uint64_t>(static_cast<double>(text_bytes) / kTextPerId * kTfdataElementBytes);
}

}  // namespace

std::string TfdataShardDirectory(const Json& config, std::string_view split, std::uint32_t number,
                                 std::uint32_t count) {
  if (split != kTrainSplit) return std::string(config["names"][split].AsString(split));
  return TfdataDirectoryName(config["name"].AsString(), number, count);
}

StageType WriteTfdataType() {
  StageType type;
  type.name = "write_tfdata";
  type.help = "Writes token ids as directories that tf.data.Dataset.load opens, for JEstimator.";
  type.keys = {
      {"name", ValueType::kString, "",
       "The name of the directories of train, in front of their number: NAME-00000-of-00500."},
      {"names", ValueType::kMap, "~",
       "Names of the directories of other splits, one each; without it the split's own."},
      Choice("eos", "document", {"document", "line", "none"},
             "The position of the id eos: behind each document, behind each line, or nowhere."),
      {"eval_ids", ValueType::kInteger, "~",
       "Ids that each split other than train must have: those of a batch, 512 * 512 as JEstimator is told.",
       Effect::kNone},
  };
  AppendShardKeys(type.keys);
  // The key eval_ids replaces it, because eval_batch would count documents.
  std::erase_if(type.keys, [](const ConfigKey& key) { return key.name == "eval_batch"; });
  type.gives = Flow::kArtifact;
  type.reads = {"ids"};
  type.named_inputs = {TokenizerOfIds()};
  type.check = Check;
  type.check_promised = OfPromisedTokenizer(CheckTokenizer);
  type.kind = SinkKind{.make = Make,
                       .first_pass_keys = {"eos", kShuffleKey},
                       .names = {IsOwnName, IsReadName},
                       .published_bytes = PublishedBytes};
  return type;
}

}  // namespace pipeline
