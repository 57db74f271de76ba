// Partitions of payloads, what pass 1 makes of them, and what a shuffle must be, computed naively.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <stop_token>
#include <string>
#include <tuple>
#include <vector>

#include "stages/shards/sharded_stage.h"
#include "stages/shards/spill_sink.h"
#include "tests/support/map_store.h"

namespace pipeline {

struct Payload {
  std::uint64_t index = 0;
  std::uint32_t sub = 0;
  std::uint8_t split = 0;
  std::string bytes;
};
using Corpus = std::map<PartitionId, std::vector<Payload>>;

inline const std::vector<std::string> kThreeSplits = {"train", "validation", "test"};

/// Payloads that name their origin, about one in ten of them in `validation`; none in `test`.
inline Corpus RandomCorpus(std::uint32_t inputs, std::uint32_t partitions, std::size_t records,
                           std::uint32_t seed) {
  std::mt19937 random(seed);
  Corpus corpus;
  for (std::uint32_t input = 0; input < inputs; ++input)
    for (std::uint32_t partition = 0; partition < partitions; ++partition) {
      std::vector<Payload>& payloads = corpus[{input, partition}];
      for (std::size_t i = 0; i < records; ++i)
        payloads.push_back({i / 2, static_cast<std::uint32_t>(i % 2),
                            static_cast<std::uint8_t>(random() % 10 == 0 ? 1 : 0),
                            std::to_string(input) + "/" + std::to_string(partition) + "/" +
                                std::to_string(i) + std::string(random() % 60, '.') + "\n"});
    }
  return corpus;
}

inline ShardRules ShuffleRules(std::uint32_t shards) {
  ShardRules rules;
  rules.splits = kThreeSplits;
  rules.shuffle_seed = 7;
  rules.shards = shards;
  rules.auto_shards = [](std::uint64_t bytes, std::uint64_t) {
    return static_cast<std::uint32_t>(bytes >> 10);
  };
  rules.object_name = [](std::string_view split, std::uint32_t number, std::uint32_t count) {
    return std::string(split) + "." + std::to_string(number) + "-of-" + std::to_string(count);
  };
  rules.describe = [](const std::vector<Shard>&, const std::vector<ShardOutput>&,
                      const std::vector<std::uint64_t>&) { return Result<Sidecars>(Sidecars{}); };
  return rules;
}

/// Pass 1 over one partition, in batches of so many records.
inline PartitionOutput WriteOutput(const ShardedStage& sharded, Store& artifact, PartitionId id,
                                   const std::vector<Payload>& payloads, std::size_t batch_records = 64) {
  Result<std::unique_ptr<Sink>> sink = sharded.OpenPartition(artifact, id);
  EXPECT_TRUE(sink.ok());
  PartitionOutput output;
  output.id = id;
  for (std::size_t first = 0; first < payloads.size(); first += batch_records) {
    Batch batch;
    for (std::size_t i = first; i < std::min(payloads.size(), first + batch_records); ++i) {
      batch.heads.push_back({payloads[i].index, payloads[i].sub, 0, 0});
      batch.payload.Append(payloads[i].bytes);
      batch.split.push_back(payloads[i].split);
      ArtifactTotals::Split& totals = output.splits[kThreeSplits[payloads[i].split]];
      ++totals.records;
      totals.bytes += payloads[i].bytes.size();
    }
    EXPECT_TRUE((*sink)->Write(batch).ok());
  }
  Result<CommittedPartition> written = (*sink)->Commit({});
  EXPECT_TRUE(written.ok()) << written.status().message();
  output.committed = *written;
  return output;
}

inline std::vector<PartitionOutput> WriteOutputs(const ShardedStage& sharded, Store& artifact,
                                                 const Corpus& corpus, std::size_t batch_records = 64) {
  std::vector<PartitionOutput> outputs;
  for (const auto& [id, payloads] : corpus)
    outputs.push_back(WriteOutput(sharded, artifact, id, payloads, batch_records));
  return outputs;
}

/// The payloads of a split by (hash, origin), all in memory.
inline std::vector<std::string> NaiveOrder(const Corpus& corpus, std::uint8_t split, std::uint64_t seed) {
  std::vector<std::tuple<std::uint64_t, PartitionId, std::uint64_t, std::uint32_t, std::string>> rows;
  for (const auto& [id, payloads] : corpus)
    for (const Payload& payload : payloads)
      if (payload.split == split)
        rows.emplace_back(ShuffleHash(seed, id, payload.index, payload.sub), id, payload.index, payload.sub,
                          payload.bytes);
  std::sort(rows.begin(), rows.end());
  std::vector<std::string> order;
  order.reserve(rows.size());
  for (auto& row : rows) order.push_back(std::get<4>(row));
  return order;
}

/// Every shard that `rules` ask for, by object name.
inline std::map<std::string, std::string, std::less<>> NaiveShards(const Corpus& corpus,
                                                                   const ShardRules& rules,
                                                                   std::uint32_t shards) {
  std::map<std::string, std::string, std::less<>> objects;
  for (std::uint8_t split = 0; split < kThreeSplits.size(); ++split) {
    const std::vector<std::string> order = NaiveOrder(corpus, split, *rules.shuffle_seed);
    const std::uint32_t count = order.empty() ? 1 : shards;
    for (std::uint32_t shard = 0; shard < count; ++shard) {
      std::string& bytes = objects[rules.object_name(kThreeSplits[split], shard, count)];
      for (std::size_t i = shard * order.size() / count; i < (shard + 1) * order.size() / count; ++i)
        bytes += order[i];
    }
  }
  return objects;
}

/// Writes and commits the shards of `request`, one after the other; `committed` learns of each.
inline Status WriteShards(const Publication& publication, const GroupRequest& request,
                          const Condition& condition,
                          const std::function<void(std::size_t, const ShardOutput&)>& committed) {
  const std::unique_ptr<GroupWriter> writer = publication.OpenGroup(request);
  for (const std::size_t shard : request.shards) {
    ASSIGN_OR_RETURN(const std::unique_ptr<UncommittedShard> written,
                     writer->WriteNext({condition, condition}));
    ASSIGN_OR_RETURN(const ShardOutput output, written->Commit(request.stop));
    committed(shard, output);
  }
  return {};
}

/// Writes the `wanted` shards of every group of a publication; the outputs by shard.
inline Result<std::vector<ShardOutput>> WriteAll(
    const Publication& publication, Store& out, std::uint64_t memory_bytes,
    const std::function<bool(std::size_t)>& wanted = [](std::size_t) { return true; },
    std::stop_token stop = {}) {
  std::vector<ShardOutput> outputs(publication.shards().size());
  for (const std::vector<std::size_t>& group : publication.Groups(memory_bytes)) {
    GroupRequest request = {{}, &out, memory_bytes, stop};
    std::copy_if(group.begin(), group.end(), std::back_inserter(request.shards), wanted);
    RETURN_IF_ERROR(
        WriteShards(publication, request, Condition::CreateOnly(),
                    [&outputs](std::size_t shard, const ShardOutput& output) { outputs[shard] = output; }));
  }
  return outputs;
}

}  // namespace pipeline
