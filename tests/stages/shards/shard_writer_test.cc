#include "stages/shards/shard_writer.h"

#include <gtest/gtest.h>

#include <string>

#include "dag/records/partition_output.h"
#include "formats/coding.h"
#include "tests/stages/shards/shuffle_fixture.h"
#include "tests/support/fault_store.h"

namespace pipeline {
namespace {

/// A corpus whose payloads begin with one number, their length.
Corpus IndexedCorpus(std::uint32_t seed) {
  Corpus corpus = RandomCorpus(1, 3, 40, seed);
  for (auto& [id, payloads] : corpus)
    for (Payload& payload : payloads) {
      std::string bytes;
      PutU32(bytes, static_cast<std::uint32_t>(payload.bytes.size()));
      payload.bytes = bytes + payload.bytes;
    }
  return corpus;
}

ShardRules IndexedRules(bool shuffled) {
  ShardRules rules = ShuffleRules(4);
  if (!shuffled) rules.shuffle_seed.reset(), rules.shards.reset();
  rules.index = ShardIndex{1, [](std::string_view split, std::uint32_t number, std::uint32_t) {
                             return std::string(split) + "." + std::to_string(number) + ".idx";
                           }};
  return rules;
}

/// The rows of a shard, as its index cuts it.
std::vector<std::string> RowsOf(MapStore& out, const ShardOutput& output) {
  std::vector<std::string> rows;
  const std::string& shard = out[output.object.name];
  Decoder index(out[output.index->name]);
  std::uint64_t sum = 0;
  while (index.left() > 0) {
    const std::uint64_t offset = index.U64();
    const std::uint32_t size = index.U32();
    sum += size;
    rows.push_back(shard.substr(offset, size));
  }
  EXPECT_EQ(output.sums, std::vector<std::uint64_t>{sum});
  EXPECT_EQ(output.records, rows.size());
  EXPECT_EQ(output.object.bytes, sum) << "the numbers are no part of the shard";
  EXPECT_EQ(output.index->digest, DigestOf(out[output.index->name]));
  return rows;
}

TEST(ShardWriterTest, TheIndexCutsTheShardIntoItsRows) {
  const Corpus corpus = IndexedCorpus(1);
  for (const bool shuffled : {false, true}) {
    const ShardedStage output(IndexedRules(shuffled));
    MapStore artifact;
    const auto plan = output.Plan(artifact, WriteOutputs(output, artifact, corpus));
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    MapStore out;
    const auto outputs = WriteAll(**plan, out, 20'000);
    ASSERT_TRUE(outputs.ok()) << outputs.status().message();
    for (std::uint8_t split = 0; split < kThreeSplits.size(); ++split) {
      std::vector<std::string> rows;
      for (std::size_t shard = 0; shard < outputs->size(); ++shard) {
        if ((*plan)->shards()[shard].split != kThreeSplits[split]) continue;
        EXPECT_EQ((*outputs)[shard].index->name, (*plan)->shards()[shard].index);
        for (std::string& row : RowsOf(out, (*outputs)[shard])) rows.push_back(std::move(row));
      }
      std::vector<std::string> wanted;
      if (shuffled) wanted = NaiveOrder(corpus, split, 7);
      for (const auto& [id, payloads] : corpus)
        for (const Payload& payload : payloads)
          if (!shuffled && payload.split == split) wanted.push_back(payload.bytes);
      for (std::string& row : wanted) row.erase(0, 4);
      EXPECT_EQ(rows, wanted);
    }
  }
}

/// Joins entries with a mark behind each, and one behind the last.
class MarkedEntries final : public ShardForm {
 public:
  void Append(std::string_view entry, std::string& out) override {
    out.append(entry.substr(sizeof(std::uint64_t))).append(",");
  }
  Status Finish(const PutBytes& put) override { return put("."); }
};

TEST(ShardWriterTest, AnIndexIsPublishedInItsForm) {
  const Corpus corpus = IndexedCorpus(4);
  for (const bool shuffled : {false, true}) {
    const ShardRules plain = IndexedRules(shuffled);
    ShardRules formed = plain;
    formed.index->form = [] { return std::make_unique<MarkedEntries>(); };
    const auto written = [&corpus](const ShardRules& rules) {
      const ShardedStage output(rules);
      MapStore artifact, out;
      const auto plan = output.Plan(artifact, WriteOutputs(output, artifact, corpus));
      EXPECT_TRUE(WriteAll(**plan, out, 20'000).ok());
      return out.objects();
    };
    const auto entries = written(plain), found = written(formed);
    ASSERT_EQ(found.size(), entries.size());
    for (const auto& [name, bytes] : entries) {
      std::string wanted;
      for (std::size_t at = 0; name.ends_with(".idx") && at < bytes.size(); at += 12)
        wanted += bytes.substr(at + 8, 4) + ",";
      EXPECT_EQ(found.at(name), name.ends_with(".idx") ? wanted + "." : bytes) << name;
    }
  }
}

TEST(ShardWriterTest, WhenThePowerGoesNoShardIsSaidToStandWithoutItsIndex) {
  const Corpus corpus = IndexedCorpus(2);
  for (const bool shuffled : {false, true}) {
    const ShardedStage output(IndexedRules(shuffled));
    MapStore artifact;
    const std::vector<PartitionOutput> outputs = WriteOutputs(output, artifact, corpus);
    const auto plan = output.Plan(artifact, outputs);
    MapStore wanted;
    ASSERT_TRUE(WriteAll(**plan, wanted, 0).ok());
    const int commits = static_cast<int>(wanted.objects().size());
    for (const auto call : {FaultStore::Call::kCreate, FaultStore::Call::kCommit})
      for (int at = 1; at <= commits; ++at) {
        MapStore disk;
        FaultStore out(disk);
        out.CutPowerAt(call, at);
        std::vector<bool> stands((*plan)->shards().size());
        const auto run = [&] {
          Status status;
          for (const auto& group : (*plan)->Groups(0)) {
            if (!status.ok()) break;
            GroupRequest request = {{}, &out, 0, {}};
            for (const std::size_t shard : group)
              if (!stands[shard]) request.shards.push_back(shard);
            status = WriteShards(**plan, request, Condition::ReplaceAny(),
                                 [&](std::size_t shard, const ShardOutput& made) {
                                   EXPECT_TRUE(disk.objects().contains(made.object.name));
                                   EXPECT_TRUE(disk.objects().contains(made.index->name));
                                   stands[shard] = true;
                                 });
          }
          return status;
        };
        EXPECT_FALSE(run().ok());
        for (const Shard& shard : (*plan)->shards())
          EXPECT_LE(disk.objects().contains(shard.object), disk.objects().contains(shard.index))
              << "an index is there before its shard";
        out.RestorePower();
        const Status status = run();
        ASSERT_TRUE(status.ok()) << status.message();
        ASSERT_EQ(disk.objects(), wanted.objects());
      }
  }
}

TEST(ShardWriterTest, AnIndexOfAnotherLengthIsDamage) {
  EXPECT_EQ(SumIndex(std::string(24, '\0'), 1, 2).status().code(), Code::kOk);
  EXPECT_EQ(SumIndex(std::string(23, '\0'), 1, 2).status().code(), Code::kDataLoss);
  EXPECT_EQ(SumIndex(std::string(24, '\0'), 1, 3).status().code(), Code::kDataLoss);
}

TEST(ShardWriterTest, APieceOfAnIndexThatIsGoneIsNamed) {
  const ShardedStage output(IndexedRules(false));
  MapStore artifact;
  const auto plan = output.Plan(artifact, WriteOutputs(output, artifact, IndexedCorpus(3)));
  ASSERT_TRUE(artifact.Remove("0000-00001.train.index").ok());
  MapStore out;
  const Status status = WriteAll(**plan, out, 0).status();
  EXPECT_EQ(DamagedOutput(status), (PartitionId{0, 1})) << status.message();
}

}  // namespace
}  // namespace pipeline
