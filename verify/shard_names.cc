#include "verify/shard_names.h"

#include "base/str.h"

namespace pipeline {

void VerifyShardNames(
    const Manifest& manifest,
    const std::function<std::string(std::string_view split, std::uint32_t number, std::uint32_t count)>& name,
    Findings& findings) {
  const ManifestShard* before = nullptr;
  for (const ManifestShard& shard : manifest.shards) {
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

}  // namespace pipeline
