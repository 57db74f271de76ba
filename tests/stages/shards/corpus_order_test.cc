#include "stages/shards/corpus_order.h"

#include "base/crc32c.h"
#include "dag/records/partition_output.h"
#include "tests/stages/shards/shuffle_fixture.h"

namespace pipeline {
namespace {

ShardRules UnshuffledRules() {
  ShardRules rules = ShuffleRules(1);
  rules.shuffle_seed.reset();
  rules.shards.reset();
  return rules;
}

std::unique_ptr<Publication> UnshuffledPlan(Store& artifact, const std::vector<PartitionOutput>& outputs) {
  Result<std::unique_ptr<Publication>> plan = ShardedStage(UnshuffledRules()).Plan(artifact, outputs);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return std::move(plan).value();
}

TEST(CorpusOrderTest, EachPartitionsPartOfASplitIsAShard) {
  Corpus corpus = RandomCorpus(2, 3, 50, 1);
  for (Payload& payload : corpus[{0, 1}]) payload.split = 0;  // none of validation
  for (const std::size_t batch_records : {1u, 7u, 50u}) {
    MapStore artifact;
    std::vector<PartitionOutput> outputs =
        WriteOutputs(ShardedStage(UnshuffledRules()), artifact, corpus, batch_records);
    std::reverse(outputs.begin(), outputs.end());
    const std::unique_ptr<Publication> plan = UnshuffledPlan(artifact, outputs);
    MapStore out;
    const Result<std::vector<ShardOutput>> written = WriteAll(*plan, out, 0);
    ASSERT_TRUE(written.ok()) << written.status().message();

    std::map<std::string, std::string, std::less<>> wanted;
    std::uint32_t train = 0;
    std::uint32_t validation = 0;
    for (const auto& [id, payloads] : corpus) {
      std::string& train_bytes = wanted["train." + std::to_string(train++) + "-of-6"];
      std::string validation_bytes;
      for (const Payload& payload : payloads)
        (payload.split == 0 ? train_bytes : validation_bytes) += payload.bytes;
      if (!validation_bytes.empty())
        wanted["validation." + std::to_string(validation++) + "-of-5"] = validation_bytes;
    }
    wanted["test.0-of-1"] = "";
    EXPECT_TRUE(out.objects() == wanted) << batch_records;

    for (std::size_t i = 0; i < written->size(); ++i) {
      const StoredObject& object = (*written)[i].object;
      const std::string& bytes = out[object.name];
      EXPECT_EQ(object.name, plan->shards()[i].object);
      EXPECT_EQ(object.bytes, bytes.size());
      EXPECT_EQ(object.crc32c, Crc32c(bytes));
      EXPECT_EQ(object.digest, DigestOf(bytes));
      EXPECT_EQ((*written)[i].records,
                static_cast<std::uint64_t>(std::count(bytes.begin(), bytes.end(), '\n')));
    }
  }
}

TEST(CorpusOrderTest, AShardsKeyFollowsItsOwnPieceAlone) {
  Corpus corpus = RandomCorpus(1, 2, 30, 2);
  MapStore one;
  const auto before = UnshuffledPlan(one, WriteOutputs(ShardedStage(UnshuffledRules()), one, corpus));
  corpus[{0, 1}][3].bytes += "!";
  MapStore two;
  const auto after = UnshuffledPlan(two, WriteOutputs(ShardedStage(UnshuffledRules()), two, corpus));
  EXPECT_EQ(before->shards()[0].outputs, after->shards()[0].outputs);
  EXPECT_NE(before->shards()[1].outputs, after->shards()[1].outputs);
}

TEST(CorpusOrderTest, WritesOnlyWhatIsWanted) {
  MapStore artifact;
  MapStore out;
  const auto plan = UnshuffledPlan(
      artifact, WriteOutputs(ShardedStage(UnshuffledRules()), artifact, RandomCorpus(1, 4, 9, 3)));
  ASSERT_TRUE(WriteAll(*plan, out, 0, [](std::size_t shard) { return shard == 2; }).ok());
  EXPECT_EQ(out.objects().size(), 1u);
  EXPECT_TRUE(out.objects().contains("train.2-of-4"));
}

TEST(CorpusOrderTest, APieceThatIsGoneOrCutIsNamed) {
  MapStore artifact;
  MapStore out;
  const auto plan = UnshuffledPlan(
      artifact, WriteOutputs(ShardedStage(UnshuffledRules()), artifact, RandomCorpus(1, 2, 9, 4)));
  artifact["0000-00001.train.shard"].pop_back();
  EXPECT_EQ(DamagedOutput(WriteAll(*plan, out, 0).status()), (PartitionId{0, 1}));
  ASSERT_TRUE(artifact.Remove("0000-00001.train.shard").ok());
  MapStore again;
  EXPECT_EQ(DamagedOutput(WriteAll(*plan, again, 0).status()), (PartitionId{0, 1}));
}

TEST(CorpusOrderTest, StopsBetweenShards) {
  MapStore artifact;
  MapStore out;
  std::stop_source stop;
  stop.request_stop();
  const auto plan = UnshuffledPlan(
      artifact, WriteOutputs(ShardedStage(UnshuffledRules()), artifact, RandomCorpus(1, 2, 9, 5)));
  const auto all = [](std::size_t) { return true; };
  EXPECT_EQ(WriteAll(*plan, out, 0, all, stop.get_token()).status().code(), Code::kCancelled);
  EXPECT_TRUE(out.objects().empty());
}

}  // namespace
}  // namespace pipeline
