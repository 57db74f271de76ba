#include "stages/verify/verify_splits.h"

#include <cstdint>
#include <map>
#include <string_view>

#include "base/str.h"
#include "stages/shards/shard_ranges.h"

namespace pipeline {

void VerifySplits(const Manifest& manifest, Findings& findings) {
  struct Split {
    std::uint64_t shards = 0;
    std::uint64_t records = 0;
  };
  std::map<std::string_view, Split> splits;
  for (const ManifestShard& shard : manifest.shards) {
    Split& split = splits[shard.split];
    ++split.shards;
    split.records += shard.records;
  }
  const Json& config = manifest.lineage.back().config;
  const auto hosts = static_cast<std::uint64_t>(config["hosts"].AsInt(1));
  const auto eval_batch = static_cast<std::uint64_t>(config["eval_batch"].AsInt(0));
  for (const auto& [name, split] : splits) {
    const bool train = name == kTrainSplit;
    if (split.records == 0) findings.Add(StrCat("split ", name, ": has no records"));
    if (train && hosts > 0 && split.shards % hosts != 0)
      findings.Add(StrCat("split ", name, ": has ", split.shards, " shards for ", hosts,
                          " hosts, some of which would run out of data before the others"));
    if (!train && split.records > 0 && split.records < eval_batch)
      findings.Add(StrCat("split ", name, ": has ", split.records, " records, less than one batch of ",
                          eval_batch, " for evaluation"));
  }
}

}  // namespace pipeline
