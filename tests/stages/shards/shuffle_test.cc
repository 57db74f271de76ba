#include "stages/shards/shuffle.h"

#include <numeric>

#include "base/crc32c.h"
#include "dag/records/partition_output.h"
#include "tests/stages/shards/shuffle_fixture.h"

namespace pipeline {
namespace {

constexpr std::uint64_t kPlenty = 64 << 20;

std::unique_ptr<ShufflePublication> PlanOf(const ShardRules& rules, Store& artifact,
                                           std::vector<PartitionOutput> outputs) {
  Result<std::unique_ptr<ShufflePublication>> plan =
      ShufflePublication::Plan(rules, artifact, std::move(outputs));
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return plan.ok() ? std::move(plan).value() : nullptr;
}

TEST(ShuffleTest, EqualsTheNaiveOrderAtAnyNumberOfShardsAndMemory) {
  const Corpus corpus = RandomCorpus(2, 3, 120, 1);
  for (const auto& [compress, spill_bytes] : {std::pair(false, 0), {true, 0}, {false, 700}}) {
    MapStore artifact;
    ShardRules rules = ShuffleRules(1);
    rules.compress_spills = compress;
    rules.spill_bytes = static_cast<std::uint64_t>(spill_bytes);
    const std::vector<PartitionOutput> outputs = WriteOutputs(ShardedStage(rules), artifact, corpus);
    for (const std::uint32_t shards : {1u, 2u, 7u, 100u, 999u}) {
      const auto wanted = NaiveShards(corpus, rules, shards);
      for (const std::uint64_t memory : {std::uint64_t{2000}, std::uint64_t{20'000}, kPlenty}) {
        rules.shards = shards;
        MapStore out;
        const Result<std::vector<ShardOutput>> written =
            WriteAll(*PlanOf(rules, artifact, outputs), out, memory);
        ASSERT_TRUE(written.ok()) << written.status().message();
        EXPECT_TRUE(out.objects() == wanted) << shards << " shards, " << memory << " bytes of memory";
      }
    }
  }
}

TEST(ShuffleTest, PayloadsFarLongerThanTheirTextAreSeveralSpills) {
  MapStore artifact;
  const ShardedStage output(ShuffleRules(1));
  std::vector<Payload> payloads;
  for (std::uint64_t i = 0; i < 25; ++i)
    payloads.push_back({i, 0, 0, std::string(std::size_t{4} << 20, '.')});
  EXPECT_EQ(WriteOutput(output, artifact, {0, 0}, payloads, 1).committed.objects.size(), 2u);
  payloads.resize(23);
  EXPECT_EQ(WriteOutput(output, artifact, {0, 1}, payloads, 1).committed.objects.size(), 1u);
  const std::uint64_t text = std::uint64_t{64} << 20, none = output.partition_memory(0);
  EXPECT_EQ(output.partition_memory(text) - none, text + text / 2);
  EXPECT_EQ(output.partition_memory(100 * text), output.partition_memory(2 * text)) << "spills close before";
}

TEST(ShuffleTest, MemoryOfNothingStillEnds) {
  const Corpus corpus = RandomCorpus(1, 2, 20, 2);
  MapStore artifact;
  const ShardRules rules = ShuffleRules(3);
  const std::vector<PartitionOutput> outputs = WriteOutputs(ShardedStage(rules), artifact, corpus);
  for (const std::uint64_t memory : {0u, 1u, 100u}) {
    MapStore out;
    ASSERT_TRUE(WriteAll(*PlanOf(rules, artifact, outputs), out, memory).ok());
    EXPECT_TRUE(out.objects() == NaiveShards(corpus, rules, 3));
  }
}

TEST(ShuffleTest, ABinLargerThanTheMemoryIsReadInSlices) {
  const Corpus corpus = RandomCorpus(1, 1, 6000, 16);
  MapStore artifact;
  const ShardRules rules = ShuffleRules(2);
  const std::vector<PartitionOutput> outputs = WriteOutputs(ShardedStage(rules), artifact, corpus);
  MapStore out;
  const auto plan = PlanOf(rules, artifact, outputs);
  ASSERT_TRUE(WriteAll(*plan, out, 400).ok());  // two windows of a row or two; a bin has about that
  EXPECT_TRUE(out.objects() == NaiveShards(corpus, rules, 2));
}

TEST(ShuffleTest, NeitherBatchesNorTheOrderOfPiecesMatter) {
  const Corpus corpus = RandomCorpus(2, 4, 100, 3);
  const ShardRules rules = ShuffleRules(4);
  MapStore one;
  MapStore two;
  std::vector<PartitionOutput> outputs = WriteOutputs(ShardedStage(rules), one, corpus, 1);
  std::vector<PartitionOutput> others = WriteOutputs(ShardedStage(rules), two, corpus, 100);
  EXPECT_TRUE(one.objects() == two.objects());
  std::reverse(others.begin(), others.end());
  const auto plan = PlanOf(rules, one, outputs);
  const auto other_plan = PlanOf(rules, two, others);
  for (std::size_t i = 0; i < plan->shards().size(); ++i)
    EXPECT_EQ(plan->shards()[i].outputs, other_plan->shards()[i].outputs);
  MapStore out;
  MapStore other_out;
  ASSERT_TRUE(WriteAll(*plan, out, kPlenty).ok());
  ASSERT_TRUE(WriteAll(*other_plan, other_out, kPlenty).ok());
  EXPECT_TRUE(out.objects() == other_out.objects());
}

TEST(ShuffleTest, HugeRecordsAreHeldOneAtATime) {
  Corpus corpus = RandomCorpus(1, 3, 100, 4);
  for (auto& [id, payloads] : corpus)
    for (const std::size_t huge : {5u, 50u, 51u}) payloads[huge].bytes.assign(300'000, 'h');
  MapStore artifact;
  const ShardRules rules = ShuffleRules(5);
  const std::vector<PartitionOutput> outputs = WriteOutputs(ShardedStage(rules), artifact, corpus);
  for (const std::uint64_t memory : {std::uint64_t{10'000}, std::uint64_t{700'000}}) {
    MapStore out;
    const auto plan = PlanOf(rules, artifact, outputs);
    ASSERT_TRUE(WriteAll(*plan, out, memory).ok());
    EXPECT_TRUE(out.objects() == NaiveShards(corpus, rules, 5)) << memory;
    EXPECT_LE(plan->counters().peak_bytes, memory / 2 + 310'000);
  }
}

TEST(ShuffleTest, NeverHoldsMoreThanItsMemory) {
  const Corpus corpus = RandomCorpus(1, 4, 4000, 5);  // about 700 KB
  MapStore artifact;
  const ShardRules rules = ShuffleRules(3);
  const std::vector<PartitionOutput> outputs = WriteOutputs(ShardedStage(rules), artifact, corpus);
  for (const std::uint64_t memory : {300'000u, 600'000u}) {
    const auto plan = PlanOf(rules, artifact, outputs);
    MapStore out;
    ASSERT_TRUE(WriteAll(*plan, out, memory).ok());
    EXPECT_LE(plan->counters().peak_bytes, memory);
    EXPECT_GT(plan->counters().peak_bytes, memory / 16);  // it is used, too
  }
}

TEST(ShuffleTest, ReadsEachByteAboutOnce) {
  const Corpus corpus = RandomCorpus(1, 2, 20'000, 6);  // about 200 frames a spill
  MapStore artifact;
  ShardRules rules = ShuffleRules(1);
  const std::vector<PartitionOutput> outputs = WriteOutputs(ShardedStage(rules), artifact, corpus, 1000);
  std::uint64_t written = 0;
  for (const auto& [name, bytes] : artifact.objects()) written += bytes.size();
  for (const std::uint32_t shards : {1u, 10u, 1000u}) {
    rules.shards = shards;
    const auto plan = PlanOf(rules, artifact, outputs);
    EXPECT_GT(shards == 1 ? 9 : plan->Groups(4 << 20).size(), 3u);
    MapStore out;
    ASSERT_TRUE(WriteAll(*plan, out, 4 << 20).ok());
    EXPECT_LE(plan->counters().bytes_read, written * 5 / 2) << shards;
    EXPECT_GE(plan->counters().bytes_read, written) << shards;
  }
}

TEST(ShuffleTest, WritesOnlyWhatIsWantedAndPassesOverTheRest) {
  const Corpus corpus = RandomCorpus(1, 2, 20'000, 7);
  MapStore artifact;
  const ShardRules rules = ShuffleRules(100);
  const std::vector<PartitionOutput> outputs = WriteOutputs(ShardedStage(rules), artifact, corpus, 1000);
  const auto all = NaiveShards(corpus, rules, 100);
  const auto plan = PlanOf(rules, artifact, outputs);
  const std::uint64_t before = plan->counters().bytes_read;
  MapStore out;
  const auto wanted = [](std::size_t shard) { return shard == 3 || shard == 4 || shard == 77; };
  ASSERT_TRUE(WriteAll(*plan, out, kPlenty, wanted).ok());
  EXPECT_EQ(out.objects().size(), 3u);
  for (const auto& [name, bytes] : out.objects()) EXPECT_TRUE(bytes == all.at(name)) << name;
  std::uint64_t written = 0;
  for (const auto& [name, bytes] : artifact.objects()) written += bytes.size();
  EXPECT_LT(plan->counters().bytes_read - before, written / 3);
}

TEST(ShuffleTest, EveryShardIsInOneGroup) {
  const Corpus corpus = RandomCorpus(2, 2, 500, 8);
  MapStore artifact;
  const ShardRules rules = ShuffleRules(50);
  const auto plan = PlanOf(rules, artifact, WriteOutputs(ShardedStage(rules), artifact, corpus));
  for (const std::uint64_t memory : {std::uint64_t{100}, std::uint64_t{40'000}, kPlenty}) {
    std::vector<std::size_t> grouped;
    for (const auto& group : plan->Groups(memory)) {
      EXPECT_FALSE(group.empty());
      grouped.insert(grouped.end(), group.begin(), group.end());
    }
    std::vector<std::size_t> every(plan->shards().size());
    std::iota(every.begin(), every.end(), std::size_t{0});
    EXPECT_EQ(grouped, every);
  }
}

TEST(ShuffleTest, OutputsAreMeasured) {
  const Corpus corpus = RandomCorpus(1, 1, 300, 9);
  MapStore artifact;
  MapStore out;
  const ShardRules rules = ShuffleRules(4);
  const auto plan = PlanOf(rules, artifact, WriteOutputs(ShardedStage(rules), artifact, corpus));
  const Result<std::vector<ShardOutput>> outputs = WriteAll(*plan, out, kPlenty);
  ASSERT_TRUE(outputs.ok());
  std::uint64_t records = 0;
  for (std::size_t i = 0; i < outputs->size(); ++i) {
    const StoredObject& object = (*outputs)[i].object;
    EXPECT_EQ(object.name, plan->shards()[i].object);
    const std::string& bytes = out[object.name];
    EXPECT_EQ(object.bytes, bytes.size());
    EXPECT_EQ(object.crc32c, Crc32c(bytes));
    EXPECT_EQ(object.digest, DigestOf(bytes));
    EXPECT_EQ((*outputs)[i].records,
              static_cast<std::uint64_t>(std::count(bytes.begin(), bytes.end(), '\n')));
    records += (*outputs)[i].records;
  }
  EXPECT_EQ(records, 300u);
}

TEST(ShuffleTest, TheOrderIsUniform) {
  // The place of the first 1000 records of the corpus: in each tenth of the order about 100 of them.
  Corpus corpus;
  std::vector<Payload>& payloads = corpus[{0, 0}];
  for (std::size_t i = 0; i < 10'000; ++i) payloads.push_back({i, 0, 0, i < 1000 ? "x" : "o"});
  MapStore artifact;
  MapStore out;
  const ShardRules rules = ShuffleRules(10);
  ASSERT_TRUE(
      WriteAll(*PlanOf(rules, artifact, WriteOutputs(ShardedStage(rules), artifact, corpus)), out, kPlenty)
          .ok());
  for (const auto& [name, bytes] : out.objects()) {
    if (!name.starts_with("train")) continue;
    const auto count = std::count(bytes.begin(), bytes.end(), 'x');
    EXPECT_GT(count, 60) << name;  // four standard deviations
    EXPECT_LT(count, 140) << name;
  }
}

TEST(ShuffleTest, ASeedIsAnotherOrderOfTheSameRecords) {
  const Corpus corpus = RandomCorpus(1, 2, 100, 10);
  EXPECT_NE(NaiveOrder(corpus, 0, 0), NaiveOrder(corpus, 0, 1));
  std::vector<std::string> zero = NaiveOrder(corpus, 0, 0);
  std::vector<std::string> one = NaiveOrder(corpus, 0, 1);
  std::sort(zero.begin(), zero.end());
  std::sort(one.begin(), one.end());
  EXPECT_EQ(zero, one);
  EXPECT_EQ(ShuffleHash(0, {0, 0}, 0, 0),
            14871390222283639730u);  // pinned: a change of the order is a new version
}

TEST(ShuffleTest, ShardKeysFollowPiecesNumbersAndCounts) {
  Corpus corpus = RandomCorpus(1, 2, 50, 11);
  MapStore artifact;
  ShardRules rules = ShuffleRules(2);
  const auto before = PlanOf(rules, artifact, WriteOutputs(ShardedStage(rules), artifact, corpus));
  EXPECT_NE(before->shards()[0].outputs, before->shards()[1].outputs);
  rules.shards = 3;
  EXPECT_NE(PlanOf(rules, artifact, WriteOutputs(ShardedStage(rules), artifact, corpus))->shards()[0].outputs,
            before->shards()[0].outputs);
  rules.shards = 2;
  corpus[{0, 1}][7].bytes += "!";
  MapStore changed;
  EXPECT_NE(PlanOf(rules, changed, WriteOutputs(ShardedStage(rules), changed, corpus))->shards()[0].outputs,
            before->shards()[0].outputs);
}

TEST(ShuffleTest, DamageNamesThePieceWhereverItIs) {
  const Corpus corpus = RandomCorpus(1, 3, 60, 12);
  const ShardRules rules = ShuffleRules(4);
  MapStore artifact;
  const std::vector<PartitionOutput> outputs = WriteOutputs(ShardedStage(rules), artifact, corpus);
  const std::string object = "0000-00001.spill";
  const std::string good = artifact[object];
  const auto run = [&]() -> Status {
    MapStore out;
    Result<std::unique_ptr<ShufflePublication>> plan = ShufflePublication::Plan(rules, artifact, outputs);
    if (!plan.ok()) return std::move(plan).status();
    return WriteAll(**plan, out, kPlenty).status();
  };
  ASSERT_TRUE(run().ok());
  for (std::size_t at = 0; at < good.size(); at += 11) {
    artifact[object] = good;
    artifact[object][at] ^= 16;
    const Status status = run();
    ASSERT_FALSE(status.ok()) << at;
    if (status.code() == Code::kFailedPrecondition) continue;  // the version
    EXPECT_EQ(DamagedOutput(status), (PartitionId{0, 1})) << status.message();
  }
  artifact[object] = good.substr(0, good.size() / 2);
  EXPECT_EQ(DamagedOutput(run()), (PartitionId{0, 1}));
  artifact[object] = artifact["0000-00002.spill"];
  EXPECT_EQ(DamagedOutput(run()), (PartitionId{0, 1}));
  ASSERT_TRUE(artifact.Remove(object).ok());
  EXPECT_EQ(DamagedOutput(run()), (PartitionId{0, 1}));
}

TEST(ShuffleTest, DamageDuringTheRunCommitsNoShardWithIt) {
  const Corpus corpus = RandomCorpus(1, 2, 100, 13);
  const ShardRules rules = ShuffleRules(1);
  MapStore artifact;
  const auto plan = PlanOf(rules, artifact, WriteOutputs(ShardedStage(rules), artifact, corpus));
  artifact["0000-00001.spill"][40] ^= 1;
  MapStore out;
  const Status status = WriteAll(*plan, out, kPlenty).status();
  EXPECT_EQ(status.message(), "0000-00001.spill: frame at offset 8: its checksum differs");
  EXPECT_TRUE(out.objects().empty());
}

TEST(ShuffleTest, StopsBetweenFramesAndShards) {
  const Corpus corpus = RandomCorpus(1, 2, 100, 14);
  const ShardRules rules = ShuffleRules(10);
  MapStore artifact;
  const auto plan = PlanOf(rules, artifact, WriteOutputs(ShardedStage(rules), artifact, corpus));
  std::stop_source stop;
  MapStore out;
  const auto wanted = [&](std::size_t shard) {
    if (shard == 3) stop.request_stop();
    return true;
  };
  EXPECT_EQ(WriteAll(*plan, out, kPlenty, wanted, stop.get_token()).status().code(), Code::kCancelled);
  EXPECT_TRUE(out.objects().empty());
}

TEST(ShuffleTest, AnObjectInTheWayIsNotReplacedUnasked) {
  const Corpus corpus = RandomCorpus(1, 1, 10, 15);
  const ShardRules rules = ShuffleRules(1);
  MapStore artifact;
  const auto plan = PlanOf(rules, artifact, WriteOutputs(ShardedStage(rules), artifact, corpus));
  MapStore out;
  out["train.0-of-1"] = "mine";
  EXPECT_EQ(WriteAll(*plan, out, kPlenty).status().code(), Code::kAlreadyExists);
  EXPECT_EQ(out["train.0-of-1"], "mine");
}

TEST(ShuffleTest, WithoutASplitColumnAllIsTheFirstSplit) {
  MapStore artifact;
  ShardRules rules = ShuffleRules(1);
  rules.splits = {"train"};
  const ShardedStage output(rules);
  Result<std::unique_ptr<Sink>> sink = output.OpenPartition(artifact, {0, 0});
  ASSERT_TRUE(sink.ok());
  Batch batch;
  batch.heads.push_back({});
  batch.payload.Append("row");
  ASSERT_TRUE((*sink)->Write(batch).ok());
  Result<CommittedPartition> written = (*sink)->Commit({});
  ASSERT_TRUE(written.ok());
  MapStore out;
  ASSERT_TRUE(WriteAll(*PlanOf(rules, artifact, {{{0, 0}, *written, {}}}), out, kPlenty).ok());
  EXPECT_EQ(out["train.0-of-1"], "row");
}

TEST(ShuffleTest, ASplitWithoutRecordsIsNamedBeforeAnythingIsWritten) {
  ShardRules in_order = ShuffleRules(1);
  in_order.shuffle_seed.reset(), in_order.shards.reset();
  for (const ShardRules& rules : {ShuffleRules(2), in_order}) {
    const ShardedStage output(rules);
    ArtifactTotals totals;
    totals.splits["train"].records = 5;
    totals.splits["test"].records = 0;
    EXPECT_EQ(output.CheckCounts(totals).code(), Code::kFailedPrecondition);
    EXPECT_EQ(
        output.CheckCounts(totals).message(),
        "split 'validation' has no records, and trainers stop at an empty one; give it a larger share (a "
        "trial: a larger --subset), or leave it out; split 'test' has no records, and trainers stop at an "
        "empty one; give it a larger share (a trial: a larger --subset), or leave it out");
    totals.splits["train"].records = 0;
    EXPECT_EQ(output.CheckCounts(totals).message(),
              "no record comes to it: the input has none, or all were dropped; the counts show it");
    totals.splits["train"].records = 5;
    totals.splits["validation"].records = totals.splits["test"].records = 1;
    EXPECT_TRUE(output.CheckCounts(totals).ok());
  }
}

TEST(ShuffleTest, NoPiecesAreOneEmptyShardForEachSplit) {
  MapStore artifact;
  MapStore out;
  ShardRules rules = ShuffleRules(8);
  ASSERT_TRUE(WriteAll(*PlanOf(rules, artifact, {}), out, kPlenty).ok());
  EXPECT_EQ(out.objects().size(), 3u);
  EXPECT_EQ(out.objects().at("train.0-of-1"), "");
}

}  // namespace
}  // namespace pipeline
