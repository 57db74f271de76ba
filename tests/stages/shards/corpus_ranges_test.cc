#include "stages/shards/corpus_ranges.h"

#include "base/crc32c.h"
#include "formats/coding.h"
#include "stages/shards/shard_keys.h"
#include "stages/shards/shard_writer.h"
#include "tests/stages/shards/shuffle_fixture.h"

namespace pipeline {
namespace {

ShardRules CutRules(std::uint32_t shards) {
  ShardRules rules = ShuffleRules(shards);
  rules.shuffle_seed.reset();
  return rules;
}

std::unique_ptr<Publication> CutPlan(const ShardRules& rules, Store& artifact,
                                     const std::vector<PartitionOutput>& outputs) {
  Result<std::unique_ptr<Publication>> plan = ShardedStage(rules).Plan(artifact, outputs);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return std::move(plan).value();
}

/// All payloads of a split, in the order of the corpus.
std::vector<std::string> RowsOf(const Corpus& corpus, std::uint8_t split) {
  std::vector<std::string> rows;
  for (const auto& [id, payloads] : corpus)
    for (const Payload& payload : payloads)
      if (payload.split == split) rows.push_back(payload.bytes);
  return rows;
}

/// The shards of `rules` for `corpus`, cut naively.
std::map<std::string, std::string, std::less<>> CutShards(const Corpus& corpus, std::uint32_t count) {
  std::map<std::string, std::string, std::less<>> shards;
  for (std::uint8_t split = 0; split < kThreeSplits.size(); ++split) {
    const std::vector<std::string> rows = RowsOf(corpus, split);
    const std::size_t of = rows.empty() ? 1 : count;
    for (std::size_t shard = 0; shard < of; ++shard) {
      std::string& bytes =
          shards[kThreeSplits[split] + "." + std::to_string(shard) + "-of-" + std::to_string(of)];
      for (std::size_t row = shard * rows.size() / of; row < (shard + 1) * rows.size() / of; ++row)
        bytes += rows[row];
    }
  }
  return shards;
}

TEST(CorpusRangesTest, ShardsAreRangesOfTheCorpusWhateverItsPartitions) {
  const Corpus corpus = RandomCorpus(3, 4, 40, 1);
  for (const std::uint32_t shards : {1u, 2u, 5u, 60u})
    for (const std::size_t batch_records : {1u, 7u, 50u}) {
      MapStore artifact, out;
      std::vector<PartitionOutput> outputs =
          WriteOutputs(ShardedStage(CutRules(shards)), artifact, corpus, batch_records);
      std::reverse(outputs.begin(), outputs.end());
      const auto plan = CutPlan(CutRules(shards), artifact, outputs);
      const Result<std::vector<ShardOutput>> written = WriteAll(*plan, out, 0);
      ASSERT_TRUE(written.ok()) << written.status().message();
      EXPECT_TRUE(out.objects() == CutShards(corpus, shards)) << shards << ' ' << batch_records;
      for (const ShardOutput& shard : *written) {
        EXPECT_EQ(shard.object.crc32c, Crc32c(out[shard.object.name]));
        EXPECT_EQ(shard.object.digest, DigestOf(out[shard.object.name]));
      }
    }
}

TEST(CorpusRangesTest, EachShardCanBeWrittenAlone) {
  const Corpus corpus = RandomCorpus(2, 3, 30, 2);
  MapStore artifact;
  const auto plan = CutPlan(CutRules(4), artifact, WriteOutputs(ShardedStage(CutRules(4)), artifact, corpus));
  const auto wanted = CutShards(corpus, 4);
  for (std::size_t shard = 0; shard < plan->shards().size(); ++shard) {
    MapStore out;
    ASSERT_TRUE(WriteAll(*plan, out, 0, [shard](std::size_t at) { return at == shard; }).ok());
    ASSERT_EQ(out.objects().size(), 1u);
    EXPECT_EQ(out.objects().begin()->second, wanted.at(plan->shards()[shard].object));
  }
}

TEST(CorpusRangesTest, ShardBytesHostsAndEqualMeanWhatTheyMeanInAShuffle) {
  Corpus corpus = RandomCorpus(1, 2, 50, 3);
  std::uint64_t bytes = 0;
  for (auto& [id, payloads] : corpus)
    for (Payload& payload : payloads) payload.split = 0, bytes += payload.bytes.size();
  MapStore artifact, out;
  ShardRules rules = CutRules(1);
  rules.shards.reset();
  rules.shard_bytes = bytes / 4 + 1;
  const std::vector<PartitionOutput> outputs = WriteOutputs(ShardedStage(rules), artifact, corpus);
  EXPECT_EQ(CutPlan(rules, artifact, outputs)->shards()[0].count, 4u);
  rules.shard_bytes = bytes * 9;
  EXPECT_EQ(CutPlan(rules, artifact, outputs)->shards()[0].count, 1u);
  rules.hosts = 3;
  rules.equal = true;
  const auto plan = CutPlan(rules, artifact, outputs);
  ASSERT_EQ(plan->shards()[0].count, 3u);
  const Result<std::vector<ShardOutput>> written = WriteAll(*plan, out, 0);
  ASSERT_TRUE(written.ok());
  for (std::size_t shard = 0; shard < 3; ++shard) EXPECT_EQ((*written)[shard].records, 33u);
}

/// Joins rows with a mark between them, so that its bytes are more than theirs.
class MarkedForm final : public ShardForm {
 public:
  void Append(std::string_view row, std::string& out) override { out.append("<").append(row); }
  Status Finish(const PutBytes& put) override { return put(">"); }
};

TEST(CorpusRangesTest, AFormAndAnIndexAreThoseOfTheWholeShard) {
  ShardRules rules = CutRules(2);
  rules.splits = {"train"};
  rules.form = [] { return std::make_unique<MarkedForm>(); };
  rules.index = ShardIndex{1, [](std::string_view split, std::uint32_t number, std::uint32_t) {
                             return std::string(split) + std::to_string(number) + ".idx";
                           }};
  MapStore artifact, out;
  std::vector<PartitionOutput> outputs;
  for (std::uint32_t partition = 0; partition < 3; ++partition) {
    const auto sink = ShardedStage(rules).OpenPartition(artifact, {0, partition});
    ASSERT_TRUE(sink.ok());
    Batch batch;
    for (std::uint32_t row = 0; row < 2; ++row) {
      std::string payload;
      PutU32(payload, 10 * partition + row);
      batch.heads.push_back({row, 0, 0, 0});
      batch.payload.Append(payload + "row" + std::to_string(partition) + std::to_string(row));
    }
    ASSERT_TRUE((*sink)->Write(batch).ok());
    outputs.push_back({{0, partition}, (*sink)->Commit({}).value(), {}});
  }
  const auto plan = CutPlan(rules, artifact, outputs);
  const Result<std::vector<ShardOutput>> written = WriteAll(*plan, out, 0);
  ASSERT_TRUE(written.ok()) << written.status().message();
  EXPECT_EQ(out["train.0-of-2"], "<row00<row01<row10>");
  EXPECT_EQ(out["train.1-of-2"], "<row11<row20<row21>");
  EXPECT_EQ((*written)[1].sums, std::vector<std::uint64_t>{11 + 20 + 21});
  std::string index;
  for (const auto& [offset, number] : {std::pair{0, 11}, {5, 20}, {10, 21}})
    PutU64(index, static_cast<std::uint64_t>(offset)), PutU32(index, static_cast<std::uint32_t>(number));
  EXPECT_EQ(out["train1.idx"], index);
}

TEST(CorpusRangesTest, DamagedRowsAreNamedBeforeAShardHasAnyOfThem) {
  const Corpus corpus = RandomCorpus(1, 2, 60, 4);
  for (const std::string name : {"0000-00001.train.shard", "0000-00001.train.index"}) {
    MapStore artifact, out;
    const auto plan =
        CutPlan(CutRules(9), artifact, WriteOutputs(ShardedStage(CutRules(9)), artifact, corpus));
    artifact[name].back() = static_cast<char>(artifact[name].back() ^ 1);
    EXPECT_EQ(DamagedOutput(WriteAll(*plan, out, 0).status()), (PartitionId{0, 1}));
    const auto whole = CutShards(corpus, 9);
    for (const auto& [object, bytes] : out.objects()) EXPECT_EQ(bytes, whole.at(object));
  }
}

TEST(CorpusRangesTest, TheFirstPassKeepsItsOutputsForAnotherNumberOfShards) {
  const auto of = [](const std::string& keys) {
    Json first = Json::Object{};
    AddCutsCorpus(Json::Parse(keys).value(), first);
    return first.Dump();
  };
  EXPECT_EQ(of(R"({"shuffle":"none","shards":"auto"})"), "{}") << "as before there were such shards";
  EXPECT_EQ(of(R"({"shuffle":{"seed":0},"shards":4})"), "{}");
  EXPECT_EQ(of(R"({"shuffle":"none","shards":4})"), of(R"({"shuffle":"none","shard_bytes":1048576})"));
  EXPECT_NE(of(R"({"shuffle":"none","shards":4})"), "{}");
}

}  // namespace
}  // namespace pipeline
