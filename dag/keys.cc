#include "dag/keys.h"

namespace pipeline {

namespace {

Hasher Begin(std::string_view kind, const Digest& of) {
  Hasher hasher;
  hasher.UpdateField(kind).UpdateU64(of.high).UpdateU64(of.low);
  return hasher;
}

Digest WithPartition(std::string_view kind, const Digest& of, PartitionId id) {
  return Begin(kind, of).UpdateU64(id.input).UpdateU64(id.partition).Finish();
}

Digest WithShard(std::string_view kind, const Digest& of, const Shard& shard) {
  return Begin(kind, of).UpdateField(shard.split).UpdateU64(shard.number).UpdateU64(shard.count).Finish();
}

}  // namespace

Digest PartitionRecipe(const Digest& stage, PartitionId id) {
  return WithPartition("pipe partition recipe v1", stage, id);
}

Digest EndRecipe(const Digest& source_stage, std::uint32_t input) {
  return Begin("pipe end v1", source_stage).UpdateU64(input).Finish();
}

Digest RecordsContent(const Digest& records, const Schema& schema) {
  Hasher hasher = Begin("pipe records content v1", records);
  for (const std::vector<std::string>* names : {&schema.splits, &schema.field_names}) {
    hasher.UpdateU64(names->size());
    for (const std::string& name : *names) hasher.UpdateField(name);
  }
  return hasher.Finish();
}

Digest PartitionContent(const Lineage& chain, const Digest& input, PartitionId id) {
  Digest content = input;
  for (const LineageStage& stage : chain) content = RecipeOf(stage, content);
  return WithPartition("pipe partition content v1", content, id);
}

Digest ShardRecipe(const Digest& stage, const Shard& shard) {
  return WithShard("pipe shard recipe v1", stage, shard);
}

Digest ShardContent(const LineageStage& sink, const Shard& shard) {
  return WithShard("pipe shard content v1", RecipeOf(sink, shard.outputs), shard);
}

}  // namespace pipeline
