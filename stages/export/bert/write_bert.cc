#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/str.h"
#include "stages/export/bert/bert.h"
#include "stages/export/bert/bert_documents.h"
#include "stages/export/bert/bert_export.h"
#include "stages/export/bert/bert_instances.h"
#include "stages/shards/made_rows.h"
#include "stages/shards/shard_keys.h"
#include "stages/shards/shard_name.h"

namespace pipeline {

namespace {

constexpr std::string_view kSeqLenKey = "seq_len";
constexpr std::string_view kPredictionsKey = "max_predictions";
constexpr std::string_view kMaskedKey = "masked_share";
constexpr std::string_view kDupeKey = "dupe_factor";
constexpr std::string_view kShortKey = "short_share";
constexpr std::string_view kNextKey = "next_sentence";
constexpr std::string_view kWordsKey = "whole_words";
constexpr std::string_view kSeedKey = "seed";
constexpr std::string_view kSizeKey = "model_size";
constexpr std::int64_t kMostSeqLen = 65536;
constexpr std::int64_t kMostPasses = 1000;
constexpr std::uint32_t kLeastShards = 8;  // the trainer reads several files at once, each front to back
constexpr std::uint64_t kSpillBytes = std::uint64_t{32} << 20;
constexpr std::size_t kUsualSplits = 4;  // most corpora have no more

struct Settings {
  BertRules rules;
  std::uint32_t passes = 1;
  WholeWords whole_words = WholeWords::kNone;
  std::vector<std::string> splits = {};
};

/// Collects the records of a partition; Commit makes all instances.
class BertSink final : public Sink {
 public:
  BertSink(std::unique_ptr<Sink> rows, PartitionId id, const Settings& settings,
           const std::vector<bool>& continues)
      : rows_(std::move(rows)), id_(id), settings_(settings) {
    for (std::size_t split = 0; split < settings.splits.size(); ++split)
      documents_.emplace_back(settings.whole_words, continues);
  }

  Status Write(const Batch& batch) override {
    RETURN_IF_ERROR(Check(batch));
    for (std::size_t row = 0; row < batch.size(); ++row) {
      const std::size_t split = batch.split.empty() ? 0 : batch.split[row];
      if (split >= documents_.size())
        return Status(Code::kInternal,
                      StrCat("examples of BERT: split ", split, " where there are ", documents_.size()));
      const auto cuts = batch.cuts.empty() ? std::span<const std::uint32_t>() : batch.cuts[row];
      RETURN_IF_ERROR(documents_[split].Add(batch.text[row], batch.ids[row], batch.id_ends[row], cuts,
                                            batch.heads[row].document));
    }
    return {};
  }

  Result<CommittedPartition> Commit(const PartitionEnd& end, std::stop_token stop) override {
    std::map<std::string, std::uint64_t, std::less<>> reasons;
    for (std::size_t split = 0; split < documents_.size(); ++split) {
      BertInstances instances(settings_.rules, documents_[split], id_, static_cast<std::uint8_t>(split));
      std::uint64_t index = 0;
      for (std::uint32_t pass = 0; pass < settings_.passes; ++pass)
        RETURN_IF_ERROR(instances.MakePass(pass, [&](const BertInstance& instance) -> Status {
          if (stop.stop_requested()) return Status(Code::kCancelled, "stopped");
          AppendBertExample(rows_.open_row(), instance, settings_.rules.lengths);
          return rows_.Close({index++, 0, 0, 0}, static_cast<std::uint8_t>(split));
        }));
      const BertInstances::Counts& made = instances.counts();
      const auto count = [&reasons](const std::string& name, std::uint64_t by) {
        if (by > 0) reasons[name] += by;
      };
      count("instances", made.instances);
      count(StrCat(kBertInstancesOf, settings_.splits[split]), made.instances);
      count("masked_ids", made.masks);
      count("random_next", made.random_next);
      count("only_sentence", made.only_sentence);
      count("short_targets", made.short_targets);
      if (documents_[split].size() == 1 && settings_.rules.next_sentence)
        count("partitions_of_one_document", 1);
    }
    ASSIGN_OR_RETURN(CommittedPartition output, rows_.Commit(end, std::move(stop)));
    for (const auto& [name, by] : reasons) output.reasons[name] += by;
    return output;
  }

 private:
  Status Check(const Batch& batch) const {
    const std::size_t rows = batch.size();
    if (batch.ids.size() != rows || batch.id_ends.size() != rows || batch.text.size() != rows ||
        (!batch.split.empty() && batch.split.size() != rows) ||
        (settings_.whole_words == WholeWords::kMorphemes && batch.cuts.size() != rows))
      return Status(Code::kInternal, StrCat("examples of BERT: ", batch.ids.size(), " lists of ids and ",
                                            batch.text.size(), " texts for ", rows, " records"));
    const auto ids = batch.ids.joined();
    const auto highest = std::max_element(ids.begin(), ids.end());
    if (highest == ids.end() || *highest < settings_.rules.vocab_size) return {};
    return Status(Code::kInvalidArgument,
                  StrCat("examples of BERT: an id is ", *highest, " and the vocabulary has ",
                         settings_.rules.vocab_size, " pieces: the ids were made by another tokenizer"));
  }

  MadeRows rows_;
  const PartitionId id_;
  const Settings& settings_;
  std::deque<BertDocuments> documents_;  // by split
};

/// Returns the memory of a partition: the ids of its documents, and a batch of instances that is forwarded
/// while the next one is made.
std::uint64_t DocumentMemory(std::size_t splits, std::uint64_t text_bytes) {
  return kMadeRowsBytes + splits * BertDocuments::kMemoryOfAny + BertDocuments::kMemoryOfByte * text_bytes;
}

/// Has no encoder, because an instance needs whole documents, and for B another document; the Sink makes
/// instances.
class WriteBert final : public ShardedStage {
 public:
  WriteBert(const Settings& settings, std::vector<bool> continues, ShardRules shards)
      : ShardedStage(std::move(shards)), settings_(settings), continues_(std::move(continues)) {}

  Result<std::unique_ptr<Sink>> OpenPartition(Store& artifact, PartitionId id) const override {
    ASSIGN_OR_RETURN(std::unique_ptr<Sink> rows, ShardedStage::OpenPartition(artifact, id));
    return std::make_unique<BertSink>(std::move(rows), id, settings_, continues_);
  }
  std::uint64_t partition_memory(std::uint64_t text_bytes) const override {
    return ShardedStage::partition_memory(text_bytes) + DocumentMemory(settings_.splits.size(), text_bytes);
  }
  Status CheckCounts(const ArtifactTotals& totals) const override {
    RETURN_IF_ERROR(ShardedStage::CheckCounts(totals));
    std::string failures;
    for (const std::string& split : settings_.splits) {
      const auto found = totals.splits.find(split);
      if (found == totals.splits.end() || totals.counts.reasons.contains(StrCat(kBertInstancesOf, split)))
        continue;
      failures +=
          StrCat(failures.empty() ? "" : "; ", "split '", split, "' has ", found->second.records,
                 " records and no id in any of them, so that there is no example: they have only white ",
                 "space and characters that BERT removes; give it other text, or leave it out");
    }
    return failures.empty() ? Status() : Status(Code::kFailedPrecondition, failures);
  }

 private:
  const Settings settings_;
  const std::vector<bool> continues_;
};

WholeWords WholeWordsOf(const Json& config) {
  const std::string_view value = config[kWordsKey].AsString("none");
  if (value == "pieces") return WholeWords::kPieces;
  return value == "morphemes" ? WholeWords::kMorphemes : WholeWords::kNone;
}

Settings SettingsOf(const Json& config) {
  Settings settings;
  BertRules& rules = settings.rules;
  rules.lengths.seq_len = static_cast<std::uint32_t>(config[kSeqLenKey].AsInt());
  rules.lengths.predictions = static_cast<std::uint32_t>(config[kPredictionsKey].AsInt());
  rules.masked_share = config[kMaskedKey].AsDouble();
  rules.short_share = config[kShortKey].AsDouble();
  rules.next_sentence = config[kNextKey].AsBool(true);
  rules.seed = static_cast<std::uint64_t>(config[kSeedKey].AsInt());
  settings.passes = static_cast<std::uint32_t>(config[kDupeKey].AsInt());
  settings.whole_words = WholeWordsOf(config);
  return settings;
}

bool IsOwnName(const Json&, const std::vector<std::string>& splits, std::string_view object) {
  return IsOneOf(object, {kBertConfigFile, kBertInfoFile, kBertVocabularyFile}) ||
         IsShardName(object, splits, BertShardName);
}

bool IsReadName(const Json&, const std::vector<std::string>&, std::string_view object) {
  return IsLike(object, "", "tfrecord");  // stages/export/bert/bert.md: `*tfrecord`
}

ShardRules RulesOf(const StageContext& context, const TokenizerFacts& facts, std::string vocabulary) {
  const Json& config = context.config;
  ShardRules rules = ShardRulesOf(config, context.schema.splits);
  rules.object_name = BertShardName;
  rules.index.emplace();  // rows are not the records of the input
  rules.spill_bytes = kSpillBytes;
  rules.auto_shards = [](std::uint64_t bytes, std::uint64_t records) {
    const auto least = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(records, 1, kLeastShards));
    return std::max(least, AutoShardCount(bytes, records));
  };
  BertInfo info;
  info.lengths = SettingsOf(config).rules.lengths;
  info.tokenizer = facts;
  info.tokenizer.model = kBertVocabularyFile;
  Json made;
  for (const std::string_view key : {kMaskedKey, kDupeKey, kShortKey, kNextKey, kWordsKey, kSeedKey})
    made[key] = config[key];
  std::string model =
      BertConfigJson(config[kSizeKey].AsString("base"), facts.vocab_size, info.lengths.seq_len);
  rules.describe = [sidecars = Sidecars{{{std::string(kBertConfigFile), std::move(model)},
                                         {std::string(kBertInfoFile), BertInfoJson(info, made)},
                                         {std::string(kBertVocabularyFile), std::move(vocabulary)}},
                                        {}}](const std::vector<Shard>&, const std::vector<ShardOutput>&,
                                             const std::vector<std::uint64_t>&) -> Result<Sidecars> {
    return sidecars;
  };
  return rules;
}

Result<std::unique_ptr<SinkStage>> Make(const StageContext& context) {
  const auto tokenizer = context.artifacts.find(kTokenizerInput);
  if (tokenizer == context.artifacts.end())
    return Status(Code::kFailedPrecondition, "write_bert needs the tokenizer that made its ids");
  ASSIGN_OR_RETURN(const TokenizerFacts facts, ReadTokenizerFacts(tokenizer->second));
  RETURN_IF_ERROR(CheckBertTokenizer(facts).Annotate("write_bert"));
  ASSIGN_OR_RETURN(VocabularyFile vocabulary, ReadVocabulary(tokenizer->second, facts));

  Settings settings = SettingsOf(context.config);
  settings.rules.vocab_size = facts.vocab_size;
  settings.rules.cls_id = static_cast<std::uint32_t>(facts.cls_id);
  settings.rules.sep_id = static_cast<std::uint32_t>(facts.sep_id);
  settings.rules.mask_id = static_cast<std::uint32_t>(facts.mask_id);
  std::vector<bool> continues;
  for (std::uint32_t id = 0; id < vocabulary.pieces.size(); ++id)
    continues.push_back(vocabulary.pieces[id].starts_with(kContinuation));
  ShardRules rules = RulesOf(context, facts, std::move(vocabulary.bytes));
  settings.splits = rules.splits;
  return std::make_unique<WriteBert>(settings, std::move(continues), std::move(rules));
}

Status Check(const Json& config, Schema& schema) {
  const auto refuse = [](std::string why) { return Status(Code::kInvalidArgument, std::move(why)); };
  const auto range = [&](std::string_view key, std::int64_t least, std::int64_t most) -> Status {
    const std::int64_t value = config[key].AsInt();
    if (value >= least && value <= most) return {};
    return refuse(StrCat(key, ": ", value, ": must be from ", least, " to ", most));
  };
  RETURN_IF_ERROR(range(kSeqLenKey, 8, kMostSeqLen));
  RETURN_IF_ERROR(range(kPredictionsKey, 1, config[kSeqLenKey].AsInt()));
  RETURN_IF_ERROR(range(kDupeKey, 1, kMostPasses));
  for (const std::string_view key : {kMaskedKey, kShortKey})
    if (const double share = config[key].AsDouble(); !(share >= 0 && share <= 1))
      return refuse(StrCat(key, ": not between 0 and 1"));
  if (!(config[kMaskedKey].AsDouble() > 0))
    return refuse(StrCat(kMaskedKey, ": must be above 0, or nothing would be learnt"));
  if (WholeWordsOf(config) == WholeWords::kMorphemes && schema.columns.count("cuts") == 0)
    return refuse(
        "whole_words: morphemes needs the column 'cuts', which its input does not have; put segment_words in "
        "front of it, or write `whole_words: pieces`");
  return CheckShardKeys(config);
}

std::vector<ConfigKey> Keys() {
  std::vector<ConfigKey> keys = {
      {kSeqLenKey, ValueType::kInteger, "128",
       "Ids of an example, [CLS] and [SEP] among them: the trainer's max_seq_length."},
      {kPredictionsKey, ValueType::kInteger, "20",
       "The most ids of an example that are predicted: the trainer's max_predictions_per_seq."},
      {kMaskedKey, ValueType::kNumber, "0.15", "Share of the ids that are predicted."},
      {kDupeKey, ValueType::kInteger, "10",
       "Passes over the documents, each with pairs and masks of its own."},
      {kShortKey, ValueType::kNumber, "0.1",
       "Share of the documents, or without pairs of the examples, that are cut shorter at random."},
      {kNextKey, ValueType::kBoolean, "true",
       "Whether an example is two segments, of which the second follows or is of another document; else it "
       "is "
       "one of whole sentences."},
      Choice(kWordsKey, "none", {"none", "pieces", "morphemes"},
             "The unit of masks: single pieces (none), pieces with the ## behind them, or morphemes."),
      {kSeedKey, ValueType::kInteger, "12345", "Seed of pairs and masks."},
      Choice(kSizeKey, "base", BertModelSizes(), "The model that bert_config.json describes."),
  };
  AppendShardKeys(keys);
  return keys;
}

/// An estimate: an id is 4.5 bytes of text, nine tenths of an example are filled, and its numbers take the
/// bytes below.
std::uint64_t PublishedBytes(const Json& config, std::uint64_t text_bytes) {
  const double ids = static_cast<double>(config[kSeqLenKey].AsInt());
  const double example = 4.2 * ids + 7 * static_cast<double>(config[kPredictionsKey].AsInt()) + 220;
  const double examples = static_cast<double>(text_bytes) / (4.5 * 0.9 * ids);
  return static_cast<std::uint64_t>(examples * example * static_cast<double>(config[kDupeKey].AsInt()));
}

std::uint64_t PartitionMemory(const Json&, std::uint64_t text_bytes) {
  return kMadeRowsBytes + kSpillBytes + kSpillBytes / 2 + DocumentMemory(kUsualSplits, text_bytes);
}

}  // namespace

StageType WriteBertType() {
  StageType type;
  type.name = "write_bert";
  type.version = 3;  // 2: counts the instances of each split; 3: those of each shard, in corpus order
  type.help =
      "Writes masked examples, in pairs of segments, for google-research/bert and the bundled trainer.";
  type.keys = Keys();
  type.gives = Flow::kArtifact;
  type.reads = {"text", "ids", "id_ends"};
  type.reasons = {
      Tally("instances", "Examples that were made."),
      Tally(StrCat(kBertInstancesOf, "*"), "Examples of the split of that name."),
      Tally("masked_ids", "Ids that are predicted."),
      Tally("random_next", "Examples whose second segment is of another document."),
      Tally("only_sentence", "Examples whose document had nothing left for the second segment."),
      Tally("short_targets", "Examples that were cut shorter at random."),
      Tally("partitions_of_one_document", "Partitions without another document for a second segment.")};
  type.named_inputs = {TokenizerOfIds()};
  type.check = Check;
  type.check_promised = OfPromisedTokenizer(
      [](const Json&, const Schema&, const TokenizerFacts& facts) { return CheckBertTokenizer(facts); });
  type.kind = SinkKind{
      .make = Make,
      .first_pass_keys = {kSeqLenKey, kPredictionsKey, kMaskedKey, kDupeKey, kShortKey, kNextKey, kWordsKey,
                          kSeedKey, kShuffleKey},
      .first_pass_of = AddCutsCorpus,
      .names = {IsOwnName, IsReadName},
      .model_memory = [](const Json&) { return 2 * kMaxWordPieceBytes; },  // for the published vocab.txt
      .partition_memory = PartitionMemory,
      .published_bytes = PublishedBytes,
      .outputs_as_published = true};
  return type;
}

}  // namespace pipeline
