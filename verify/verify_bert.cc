#include "verify/verify_bert.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/str.h"
#include "formats/bert.h"
#include "text/wordpiece.h"
#include "verify/shard_names.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kMaxConfigBytes = std::uint64_t{1} << 20;

const StoredObject* FindSidecar(const Manifest& manifest, std::string_view name) {
  const auto found = std::find_if(manifest.sidecars.begin(), manifest.sidecars.end(),
                                  [&](const StoredObject& object) { return object.name == name; });
  return found == manifest.sidecars.end() ? nullptr : &*found;
}

/// Empty where nothing is wrong.
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
      return StrCat("position ", position, " is to be predicted, where [CLS] or [SEP] stands");
  if (row.random_next && row.first_segment == ids.size())
    return "a second segment is random and is not there";
  return {};
}

}  // namespace

void VerifyBertManifest(const Manifest& manifest, Findings& findings) {
  VerifyShardNames(manifest, BertShardName, findings);
  for (const std::string_view needed : {kBertInfoFile, kBertVocabularyFile, kBertConfigFile})
    if (FindSidecar(manifest, needed) == nullptr) findings.Add(StrCat("names no ", needed));
}

Status VerifyBertInfo(Store& store, const BertInfo& info, const Manifest& manifest,
                      const std::stop_token& stop, Findings& findings) {
  const Json& config = manifest.lineage.back().config;
  const auto compare = [&](std::string_view key, std::uint32_t is) {
    if (const std::int64_t said = config[key].AsInt(); said != std::int64_t{is})
      findings.Add(StrCat(key, " is ", is, " where the manifest says ", said));
  };
  compare("seq_len", info.lengths.seq_len);
  compare("max_predictions", info.lengths.predictions);
  if (const Status fits = CheckBertTokenizer(info.tokenizer); !fits.ok()) findings.Add(fits.message());

  const StoredObject* const file = FindSidecar(manifest, kBertVocabularyFile);
  if (file != nullptr && file->digest != info.tokenizer.model_digest)
    findings.Add(StrCat("the ids were made by a vocabulary with the digest ",
                        info.tokenizer.model_digest.ToHex(), ", and that of ", file->name, " is ",
                        file->digest.ToHex()));
  const Result<std::string> vocabulary = ReadObject(store, kBertVocabularyFile, kMaxWordPieceBytes, stop);
  if (vocabulary.status().code() == Code::kCancelled) return vocabulary.status();
  if (vocabulary.ok()) {
    const auto pieces = WordPieceVocabulary::Parse(*vocabulary);
    if (!pieces.ok())
      findings.Add(StrCat(kBertVocabularyFile, ": ", pieces.status().message()));
    else if (pieces->size() != info.tokenizer.vocab_size)
      findings.Add(StrCat(kBertVocabularyFile, " has ", pieces->size(), " pieces where ",
                          info.tokenizer.vocab_size, " are said"));
  }
  const Result<std::string> text = ReadObject(store, kBertConfigFile, kMaxConfigBytes, stop);
  if (text.status().code() == Code::kCancelled) return text.status();
  if (!text.ok()) return {};  // that it is missing is said elsewhere
  const Result<Json> model = Json::Parse(*text);
  if (!model.ok()) {
    findings.Add(StrCat(kBertConfigFile, ": not JSON: ", model.status().message()));
    return {};
  }
  if ((*model)["vocab_size"].AsInt() < std::int64_t{info.tokenizer.vocab_size})
    findings.Add(StrCat(kBertConfigFile, ": vocab_size is ", (*model)["vocab_size"].AsInt(),
                        " where there are ids below ", info.tokenizer.vocab_size,
                        ": a TPU would read beyond its table and say nothing"));
  if ((*model)["max_position_embeddings"].AsInt() < std::int64_t{info.lengths.seq_len})
    findings.Add(StrCat(kBertConfigFile, ": max_position_embeddings is ",
                        (*model)["max_position_embeddings"].AsInt(), " where examples have ",
                        info.lengths.seq_len, " ids"));
  return {};
}

Status VerifyBertShard(const ByteFile& file, const ManifestShard& shard, const BertInfo& info,
                       const std::stop_token& stop, Findings& findings, ReadCounts& counts) {
  return VerifyRecords(
      file, shard,
      [&info](const ShardRecord& record) -> std::string {
        const Result<BertRow> row = ParseBertExample(record.bytes, info.lengths);
        return row.ok() ? WrongWith(*row, info.tokenizer) : std::string(row.status().message());
      },
      stop, findings, counts);
}

}  // namespace pipeline
