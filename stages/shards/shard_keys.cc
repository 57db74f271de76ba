#include "stages/shards/shard_keys.h"

#include <utility>

#include "base/str.h"
#include "stages/shards/shard_ranges.h"

namespace pipeline {

void AppendShardKeys(std::vector<ConfigKey>& keys) {
  keys.insert(
      keys.end(),
      {{kShuffleKey, ValueType::kShuffle, "{seed: 0}",
        "The order of the records over the whole of each split; `none` keeps that of the corpus."},
       {"shards", ValueType::kShards, "auto",
        "Shards of each split; `auto` takes as many as TensorFlow Datasets would."},
       {"shard_bytes", ValueType::kBytes, "~",
        "About the bytes of a shard, in place of `shards`; each split has as many as that gives."},
       {"hosts", ValueType::kInteger, "1", "The shards of train are a multiple of it."},
       {"equal", ValueType::kBoolean, "false",
        "Whether the last rows of train are left out so that all its shards have the same number."},
       {"eval_batch", ValueType::kInteger, "~",
        "Records that each split but train must have: a batch of the trainer's evaluation, on all its "
        "hosts."}});
}

ShardRules ShardRulesOf(const Json& config, std::vector<std::string> splits) {
  ShardRules rules;
  rules.splits = std::move(splits);
  if (const Json& shuffle = config[kShuffleKey]; shuffle.is_object()) {
    rules.shuffle_seed = static_cast<std::uint64_t>(shuffle["seed"].AsInt());
    rules.compress_spills = shuffle["compress_spills"].AsBool();
  }
  if (config["shards"].is_int()) rules.shards = static_cast<std::uint32_t>(config["shards"].AsInt());
  if (config["shard_bytes"].is_int())
    rules.shard_bytes = static_cast<std::uint64_t>(config["shard_bytes"].AsInt());
  rules.hosts = static_cast<std::uint32_t>(config["hosts"].AsInt(1));
  rules.equal = config["equal"].AsBool();
  rules.eval_batch = static_cast<std::uint64_t>(config["eval_batch"].AsInt(0));
  rules.auto_shards = AutoShardCount;
  return rules;
}

void AddCutsCorpus(const Json& config, Json& first_pass) {
  if (ShardRulesOf(config, {}).cuts_corpus()) first_pass["cut"] = true;
}

Status CheckShardKeys(const Json& config) {
  constexpr std::int64_t kMost = 1'000'000;
  for (const std::string_view key : {"shards", "hosts"}) {
    const Json& value = config[key];
    if (value.is_int() && (value.AsInt() < 1 || value.AsInt() > kMost))
      return Status(Code::kInvalidArgument, StrCat(key, ": ", value.AsInt(), ": must be from 1 to ", kMost));
  }
  constexpr std::int64_t kLeastBytes = 1 << 10;
  if (const std::int64_t bytes = config["shard_bytes"].AsInt(kLeastBytes); bytes < kLeastBytes)
    return Status(Code::kInvalidArgument,
                  StrCat("shard_bytes: ", bytes, ": must be at least 1KiB; 64MiB, for example"));
  if (config["eval_batch"].AsInt(1) < 1)
    return Status(Code::kInvalidArgument,
                  "eval_batch: a batch has at least 1 record; leave it out for no check");
  return CheckShardRules(ShardRulesOf(config, {}));
}

std::uint32_t AutoShardCount(std::uint64_t framed_bytes, std::uint64_t records) {
  constexpr std::uint64_t kUsual = 1024;
  const std::uint64_t fewest = framed_bytes >> 30;  // at most 1 GiB each
  const std::uint64_t most = framed_bytes >> 26;    // at least 64 MiB each
  if (fewest <= kUsual && kUsual <= most && records >= kUsual) return kUsual;
  if (fewest > kUsual) return static_cast<std::uint32_t>((fewest + kUsual - 1) / kUsual * kUsual);
  for (std::uint32_t shards = 512; shards >= 2; shards /= 2)
    if (fewest <= shards && shards <= most) return shards;
  return 1;
}

}  // namespace pipeline
