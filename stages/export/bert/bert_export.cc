#include "stages/export/bert/bert_export.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/str.h"
#include "stages/export/bert/bert.h"
#include "text/wordpiece.h"

namespace pipeline {

namespace {

/// Returns the fault of the row; empty: none.
std::string WrongWith(const BertRow& row, const TokenizerFacts& tokenizer) {
  const auto is = [](std::uint32_t id, std::int32_t special) { return std::int64_t{id} == special; };
  const std::vector<std::uint32_t>& ids = row.ids;
  for (const std::uint32_t id : ids)
    if (id >= tokenizer.vocab_size)
      return StrCat("has the id ", id, " where the vocabulary has ", tokenizer.vocab_size, " pieces");
  for (const std::uint32_t id : row.labels)
    if (id >= tokenizer.vocab_size)
      return StrCat("has the label ", id, " where the vocabulary has ", tokenizer.vocab_size, " pieces");
  if (ids.size() < 3 || !is(ids.front(), tokenizer.cls_id) || !is(ids.back(), tokenizer.sep_id))
    return "does not begin with [CLS] or end with [SEP]";
  if (row.first_segment == 0 || !is(ids[row.first_segment - 1], tokenizer.sep_id))
    return "its first segment does not end with [SEP]";
  for (const std::uint32_t position : row.positions)
    if (position == 0 || position + 1 == ids.size() || position + 1 == row.first_segment)
      return StrCat("position ", position, " is to be predicted, but it is that of [CLS] or [SEP]");
  if (row.random_next && row.first_segment == ids.size())
    return "next_sentence_labels is 1, and there is no second segment";
  return {};
}

/// Verifies examples with bert.json.
class BertCheck final : public ExportCheck {
 public:
  explicit BertCheck(const ExportLocation& artifact)
      : ExportCheck(artifact), info_(Read(kBertInfoFile, ParseBertInfo)) {}

  void VerifyManifest(Findings& findings) const override {
    VerifyShardNames(BertShardName, findings);
    // Earlier versions did not count instances by split.
    if (const Rows instances = Instances(); !instances.empty()) VerifySums(findings, instances);
    VerifyNames({kBertInfoFile, kBertVocabularyFile, kBertConfigFile}, findings);
    VerifyDescription(kBertInfoFile, info_.status(), findings);
  }

  /// Verifies the seven features of each example, their filling, the ids, [CLS] and [SEP].
  Status VerifyShard(const ByteFile& file, const ManifestShard& shard, Findings& findings,
                     ReadCounts& counts) const override {
    if (!info_.ok()) return VerifyBytes(file, shard.object, stop(), findings, counts);
    const auto wrong = [this](const ShardRecord& record) -> std::string {
      const Result<BertRow> row = ParseBertExample(record.bytes, info_->lengths);
      return row.ok() ? WrongWith(*row, info_->tokenizer) : std::string(row.status().message());
    };
    return VerifyRecords(file, shard, wrong, stop(), findings, counts);
  }

  Status VerifySidecar(const StoredObject& object, Findings& findings) const override {
    if (!info_.ok()) return {};
    if (object.name == kBertInfoFile) VerifyInfo(findings);
    if (object.name != kBertVocabularyFile && object.name != kBertConfigFile) return {};
    ASSIGN_OR_RETURN(const std::string text, Read(object.name));
    if (object.name == kBertVocabularyFile)
      VerifyVocabulary(text, findings);
    else
      VerifyConfig(text, findings);
    return {};
  }

 private:
  /// Returns the instances by split.
  Rows Instances() const {
    Rows rows;
    if (const auto counts = manifest().counts.find(manifest().stage()); counts != manifest().counts.end())
      for (const auto& [reason, count] : counts->second.reasons)
        if (reason.starts_with(kBertInstancesOf)) rows[reason.substr(kBertInstancesOf.size())] = count;
    return rows;
  }

  void VerifyInfo(Findings& findings) const {
    const auto compare = [&](std::string_view key, std::uint32_t is) {
      if (const std::int64_t said = config()[key].AsInt(); said != std::int64_t{is})
        findings.Add(StrCat(key, " is ", is, " where the manifest says ", said));
    };
    compare("seq_len", info_->lengths.seq_len);
    compare("max_predictions", info_->lengths.predictions);
    if (const Status fits = CheckBertTokenizer(info_->tokenizer); !fits.ok()) findings.Add(fits.message());
    VerifyTokenizer(info_->tokenizer, findings);
  }

  void VerifyVocabulary(std::string_view text, Findings& findings) const {
    const auto pieces = WordPieceVocabulary::Parse(text);
    if (!pieces.ok())
      findings.Add(pieces.status().message());
    else if (pieces->size() != info_->tokenizer.vocab_size)
      findings.Add(StrCat("has ", pieces->size(), " pieces where ", kBertInfoFile, " says ",
                          info_->tokenizer.vocab_size));
  }

  void VerifyConfig(std::string_view text, Findings& findings) const {
    const Result<Json> model = Json::Parse(text);
    if (!model.ok()) return findings.Add(StrCat("not JSON: ", model.status().message()));
    if (const std::int64_t ids = (*model)["vocab_size"].AsInt();
        ids < std::int64_t{info_->tokenizer.vocab_size})
      findings.Add(StrCat("vocab_size is ", ids, " where there are ids below ", info_->tokenizer.vocab_size,
                          ": a TPU would read beyond its table without an error"));
    if (const std::int64_t most = (*model)["max_position_embeddings"].AsInt();
        most < std::int64_t{info_->lengths.seq_len})
      findings.Add(StrCat("max_position_embeddings is ", most, " where examples have ",
                          info_->lengths.seq_len, " ids"));
  }

  const Result<BertInfo> info_;
};

class BertView final : public ExampleView {
 public:
  /// Counts the ids whose mask is not 0.
  std::optional<SeenIds> IdsOf(std::uint64_t index, const TfExample& example) const override {
    const TfInt64List* const mask = NumbersOf(example, kBertMask);
    if (mask == nullptr || NumbersOf(example, kBertIds) == nullptr) return ExampleView::IdsOf(index, example);
    return SeenIds{static_cast<std::uint64_t>(
        std::count_if(mask->begin(), mask->end(), [](std::int64_t one) { return one != 0; }))};
  }
};

std::unique_ptr<const ExportReader> ReadBert(const OpenBeside&) {
  return std::make_unique<ExampleReader>(std::make_unique<BertView>());
}

/// Accepts examples of other programs for the same trainer, too.
bool IsBertFile(const NamedFile& file) {
  return file.first != nullptr && NumbersOf(*file.first, kBertIds) != nullptr &&
         NumbersOf(*file.first, kBertMask) != nullptr;
}

}  // namespace

ExportFormat BertExport() {
  return {.stage = WriteBertType(), .verify = NewCheck<BertCheck>, .read = ReadBert, .claims = IsBertFile};
}

}  // namespace pipeline
