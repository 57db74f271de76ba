#include "stages/shards/corpus_part.h"

#include "base/str.h"
#include "stages/shards/shard_writer.h"

namespace pipeline {

std::string CorpusPartName(PartitionId id, std::string_view split) {
  return OutputName(id, StrCat('.', split, ".shard"));
}

std::string CorpusPartIndexName(PartitionId id, std::string_view split) {
  return OutputName(id, StrCat('.', split, ".index"));
}

Result<std::optional<CorpusPart>> CorpusPartOf(const ShardRules& rules, const PartitionOutput& output,
                                               const std::string& split) {
  CorpusPart part;
  const std::string wanted = CorpusPartName(output.id, split), index = CorpusPartIndexName(output.id, split);
  for (const StoredObject& object : output.committed.objects) {
    if (object.name == wanted) part.object = object;
    if (object.name == index) part.index = object;
  }
  if (part.object.name.empty()) return std::nullopt;
  const auto lacks = [&part](std::string_view what) {
    return OutputError(part.object.name, Status(Code::kDataLoss, StrCat("its log line has no ", what)));
  };
  if (rules.index) {  // a row need not be a record of the partition
    if (!part.index) return lacks("index of it");
    part.records = part.index->bytes / IndexEntryBytes(rules.index_numbers());
    return part;
  }
  const auto totals = output.splits.find(split);
  if (totals == output.splits.end()) return lacks("totals of this split");
  part.records = totals->second.records;
  return part;
}

}  // namespace pipeline
