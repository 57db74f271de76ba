#include <gtest/gtest.h>

#include <string>

#include "formats/tfrecord.h"
#include "stages/export/tfdata/tfdata.h"
#include "stages/export/tfdata/tfdata_export.h"
#include "tests/stages/export/tfdata/tfdata_artifact.h"

namespace pipeline {
namespace {

/// The ids of a snapshot.
std::vector<std::uint32_t> IdsOf(const std::string& snapshot) {
  const StringFile file(snapshot);
  const auto input = file.Open(0, {});
  TfRecordReader reader(**input, 100);
  std::vector<std::uint32_t> ids;
  while (true) {
    const auto record = reader.Next();
    EXPECT_TRUE(record.ok()) << record.status().message();
    if (!record.ok() || !*record) return ids;
    ids.push_back(*ParseTfdataElement(**record));
  }
}

/// The documents of a split, each with what ends it, in no order.
std::multiset<std::vector<std::uint32_t>> Documents(const PackedCorpus& corpus, std::uint8_t split,
                                                    std::string_view eos) {
  std::multiset<std::vector<std::uint32_t>> documents;
  for (const auto& [id, lines] : corpus) {
    std::map<std::uint64_t, std::vector<std::uint32_t>> of;
    for (const PackedLine& line : lines) {
      if (line.split != split) continue;
      std::vector<std::uint32_t>& ids = of[line.document];
      ids.insert(ids.end(), line.ids.begin(), line.ids.end());
      if (eos == "line") ids.push_back(2);
    }
    for (auto& [document, ids] : of) {
      if (eos == "document") ids.push_back(2);
      documents.insert(ids);
    }
  }
  return documents;
}

TEST(WriteTfdataTest, DocumentsAreWholeAndEachIsThereOnce) {
  const PackedCorpus corpus = RandomPackedCorpus(3, 20);
  for (const std::uint32_t vocab : {512u, 70'000u}) {
    TokenizerFacts facts = PipeTokenizer("a model");
    facts.vocab_size = vocab;
    const TfdataPublished made = PublishTfdata(TfdataConfig(), facts, corpus);
    const auto info = ParseTfdataInfo(made.sidecars.at("tfdata.json"));
    ASSERT_TRUE(info.ok()) << info.status().message();
    ASSERT_EQ(info->splits.size(), 2u);
    EXPECT_EQ(info->splits[0].directories.size(), 3u);
    ASSERT_EQ(info->splits[1].directories.size(), 1u);
    EXPECT_EQ(info->splits[1].directories[0].name, "ptb");
    for (const TfdataSplit& split : info->splits) {
      std::multiset<std::vector<std::uint32_t>> left =
          Documents(corpus, split.name == "train" ? 0 : 1, "document");
      for (const TfdataDirectory& directory : split.directories) {
        const std::string snapshot = made.shards.at(TfdataSnapshotName(directory.name, directory.run_id));
        const std::vector<std::uint32_t> ids = IdsOf(snapshot);
        EXPECT_EQ(ids.size(), directory.ids);
        EXPECT_EQ(snapshot.size(), directory.ids * kTfdataElementBytes);
        std::uint64_t documents = 0;
        for (auto at = ids.begin(); at != ids.end(); ++documents) {
          const auto end = std::find(at, ids.end(), 2u) + 1;
          const auto found = left.find(std::vector<std::uint32_t>(at, end));
          ASSERT_NE(found, left.end());
          left.erase(found);
          at = end;
        }
        EXPECT_EQ(documents, directory.documents);
        const auto metadata = ParseTfdataMetadata(made.sidecars.at(directory.name + "/snapshot.metadata"));
        ASSERT_TRUE(metadata.ok());
        EXPECT_EQ(*metadata, (TfdataMetadata{directory.run_id, directory.ids}));
        EXPECT_EQ(made.followers.at(directory.name + "/dataset_spec.pb"), TfdataSpec());
      }
      EXPECT_TRUE(left.empty());
    }
    EXPECT_EQ(made.sidecars.at("tokenizer.model"), "a model");
  }
}

TEST(WriteTfdataTest, EosStandsBehindLinesOrNowhere) {
  const PackedCorpus corpus = RandomPackedCorpus(2, 20);
  for (const std::string_view eos : {"line", "none"}) {
    Json config = TfdataConfig();
    config["eos"] = Json(eos);
    config["shards"] = 1;
    const TfdataPublished made = PublishTfdata(config, PipeTokenizer("a model"), corpus);
    std::size_t ids = 0, eos_ids = 0, lines = 0;
    for (const auto& [name, snapshot] : made.shards)
      for (const std::uint32_t id : IdsOf(snapshot)) ++ids, eos_ids += id == 2 ? 1 : 0;
    std::size_t wanted = 0;
    for (const auto& [id, all] : corpus)
      for (const PackedLine& line : all) wanted += line.ids.size(), ++lines;
    EXPECT_EQ(eos_ids, eos == "line" ? lines : 0u);
    EXPECT_EQ(ids, wanted + eos_ids);
  }
}

TEST(WriteTfdataTest, BytesDependNeitherOnBatchesNorOnMemory) {
  const PackedCorpus corpus = RandomPackedCorpus(3, 30);
  const TfdataPublished one = PublishTfdata(TfdataConfig(), PipeTokenizer("m"), corpus, 1, 1 << 10);
  const TfdataPublished other = PublishTfdata(TfdataConfig(), PipeTokenizer("m"), corpus, 40, 1 << 20);
  EXPECT_EQ(one.shards, other.shards);
  EXPECT_EQ(one.sidecars, other.sidecars);
}

TEST(WriteTfdataTest, AnIdThatTheTokenizerLacksIsRefused) {
  PackedCorpus corpus = RandomPackedCorpus(1, 2);
  corpus.begin()->second[1].ids.push_back(512);
  const auto stage = MakeWriteTfdata(TfdataConfig(), PipeTokenizer("m"));
  ASSERT_TRUE(stage.ok());
  Batch batch = PackedBatch({0, 0}, corpus.begin()->second, 0, 10);
  StageCounts counts;
  const Status status = (*(*stage)->encoder()->NewWorker())->Apply(batch, 1, counts);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(batch.failed_index, 1u);
}

TEST(WriteTfdataTest, ATokenizerWithoutEosIsRefusedUnlessNoneIsWanted) {
  TokenizerFacts facts = PipeTokenizer("m");
  facts.eos_id = -1;
  Json config = TfdataConfig();
  const auto refused = MakeWriteTfdata(config, facts);
  EXPECT_EQ(refused.status().code(), Code::kFailedPrecondition);
  EXPECT_NE(std::string(refused.status().message()).find("eos: none"), std::string::npos);
  config["eos"] = "none";
  EXPECT_TRUE(MakeWriteTfdata(config, facts).ok());
}

TEST(WriteTfdataTest, ASplitThatIsTooSmallIsRefusedBeforeShardsAreWritten) {
  Json config = TfdataConfig();
  config["eval_ids"] = 1000;
  const auto stage = MakeWriteTfdata(config, PipeTokenizer("m"));
  ArtifactTotals totals;
  totals.splits["train"] = {10, 10, 20};
  totals.splits["validation"] = {10, 10, 1978};  // 989 ids of two bytes, and an eos each
  EXPECT_EQ(
      std::string((*stage)->CheckCounts(totals).message()),
      "split 'validation' has 999 ids and needs 1000 for one batch of evaluation: give it a larger share");
  totals.splits["validation"].bytes = 1980;
  EXPECT_TRUE((*stage)->CheckCounts(totals).ok());
  totals.splits.erase("train");
  EXPECT_NE(std::string((*stage)->CheckCounts(totals).message()).find("split 'train' has 0 ids"),
            std::string::npos);
}

TEST(WriteTfdataTest, WhatCannotBeIsRefused) {
  const auto refused = [](std::string_view key, Json value) {
    Json config = TfdataConfig();
    config[key] = std::move(value);
    Schema schema;
    schema.splits = {"train", "validation"};
    const Status status = WriteTfdataType().check(config, schema);
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_TRUE(refused("name", "a/b").starts_with("name: "));
  EXPECT_TRUE(refused("name", "").starts_with("name: "));
  EXPECT_TRUE(refused("names", Json(Json::Object{{"test", "x"}})).find("'test'") != std::string::npos);
  EXPECT_TRUE(refused("names", Json(Json::Object{{"train", "x"}})).find("numbered") != std::string::npos);
  EXPECT_TRUE(refused("names", Json(Json::Object{{"validation", "tfdata.json"}})).find("used twice") !=
              std::string::npos);
  EXPECT_TRUE(refused("shuffle", "none").starts_with("shuffle: none: "));
  EXPECT_TRUE(refused("eval_ids", -1).starts_with("eval_ids: "));
  EXPECT_TRUE(refused("shards", 0).starts_with("shards: "));
}

TEST(WriteTfdataTest, TheForecastCountsTwentySixBytesPerId) {
  EXPECT_EQ(WriteTfdataType().sink()->published_bytes(TfdataConfig(), 4'500'000'000), 26'000'000'000u);
}

}  // namespace
}  // namespace pipeline
