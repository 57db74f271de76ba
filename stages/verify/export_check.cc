#include "stages/verify/export_check.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include "base/str.h"
#include "stages/lines/labels.h"
#include "stages/verify/export_reader.h"

namespace pipeline {

Result<std::string> ExportCheck::Read(std::string_view name) const {
  return ReadObject(artifact_.store, name, kMaxDescriptionBytes, stop());
}

Result<std::unique_ptr<const SentencePieceEncoder>> ExportCheck::ReadTokenizer(std::string_view name) const {
  ASSIGN_OR_RETURN(const std::string model, Read(name));
  return SentencePieceEncoder::Load(model);
}

bool ExportCheck::TookLabels() const {
  const auto& sources = manifest().lineage.back().sources;
  return config().Has("labels") || std::any_of(sources.begin(), sources.end(), [](const auto& source) {
           return source.name == kLabelsSource;
         });
}

const StoredObject* ExportCheck::Find(std::string_view name) const {
  for (const auto* const objects : {&manifest().sidecars, &manifest().followers})
    for (const StoredObject& object : *objects)
      if (object.name == name) return &object;
  return nullptr;
}

void ExportCheck::VerifyShardNames(const ShardName& name, Findings& findings) const {
  const ManifestShard* before = nullptr;
  for (const ManifestShard& shard : manifest().shards) {
    const bool follows = before != nullptr && before->split == shard.split;
    if (shard.number != (follows ? before->number + 1 : 0) || (follows && shard.count != before->count) ||
        (!follows && before != nullptr && before->number + 1 != before->count))
      findings.Add(StrCat("shard ", shard.object.name, ": number ", shard.number, " of ", shard.count,
                          " does not follow the one before"));
    if (const std::string expected = name(shard.split, shard.number, shard.count);
        shard.object.name != expected)
      findings.Add(StrCat("shard ", shard.object.name, ": its name is not ", expected));
    before = &shard;
  }
  if (before != nullptr && before->number + 1 != before->count)
    findings.Add(StrCat("split ", before->split, ": has ", before->number + 1, " shards of ", before->count));
}

ExportCheck::Rows ExportCheck::RecordsOf(const Manifest& manifest) {
  Rows rows;
  for (const auto& [name, split] : manifest.splits) rows[name] = split.records;
  return rows;
}

void ExportCheck::VerifySums(Findings& findings, const Rows& rows) const {
  struct Sum {
    std::uint64_t shards = 0, records = 0;
  };
  std::map<std::string, Sum, std::less<>> sums;
  for (const ManifestShard& shard : manifest().shards) {
    Sum& sum = sums[shard.split];
    ++sum.shards;
    sum.records += shard.records;
  }
  const bool equal = config()["equal"].AsBool();
  for (const auto& [name, sum] : sums) {
    const auto total = rows.find(name);
    const std::uint64_t promised = total == rows.end() ? 0 : total->second;
    const std::uint64_t may_lack = equal ? sum.shards - 1 : 0;
    if (sum.records > promised || promised - sum.records > may_lack)
      findings.Add(StrCat("split ", name, ": its shards have ", sum.records, " records of ", promised));
  }
  for (const auto& [name, promised] : rows)
    if (promised > 0 && !sums.contains(name))
      findings.Add(StrCat("split ", name, ": has ", promised, " records and no shard"));
}

void ExportCheck::VerifyNames(std::initializer_list<std::string_view> needed, Findings& findings) const {
  for (const std::string_view name : needed)
    if (Find(name) == nullptr) findings.Add(StrCat("names no ", name));
}

void ExportCheck::VerifyDescription(std::string_view name, const Status& read, Findings& findings) {
  if (!read.ok())
    findings.Add(StrCat(name, ": cannot be read, so that no record was checked: ", read.message()));
}

void ExportCheck::VerifyTokenizer(const TokenizerFacts& made_by, Findings& findings) const {
  const StoredObject* const model = Find(made_by.model);
  if (model == nullptr)
    findings.Add(StrCat("the tokenizer's model ", made_by.model, " is not in the manifest"));
  else if (model->digest != made_by.model_digest)
    findings.Add(StrCat("the ids were made by a tokenizer with the digest ", made_by.model_digest.ToHex(),
                        ", and that of ", model->name, " is ", model->digest.ToHex()));
}

}  // namespace pipeline
