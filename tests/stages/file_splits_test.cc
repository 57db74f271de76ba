#include "stages/file_splits.h"

#include <gtest/gtest.h>

#include "stages/decompress.h"
#include "stages/read_rows.h"
#include "stages/split.h"
#include "tests/stages/batches.h"
#include "tests/support/memory_file.h"

namespace pipeline {
namespace {

using Strings = std::vector<std::string>;

Json Splits() {
  Json splits;
  splits["train"] = Json::Array{"*train*", "part-0?"};
  splits["test"] = "*test*";
  return splits;
}

std::string WhyNot(const Json& splits) { return std::string(FileSplits::Make(splits).status().message()); }

TEST(FileSplitsTest, AFileHasTheSplitWhosePatternItMatches) {
  const auto splits = FileSplits::Make(Splits());
  ASSERT_TRUE(splits.ok()) << splits.status().message();
  EXPECT_EQ(splits->names(), (Strings{"test", "train"}));
  EXPECT_EQ(*splits->Of("ratings_train.txt"), 1);
  EXPECT_EQ(*splits->Of("part-07"), 1);
  EXPECT_EQ(*splits->Of("ratings_test.txt"), 0);
  EXPECT_EQ(splits->Of("ratings.txt").status().message(),
            "splits: ratings.txt: matches the pattern of no split; add one for it, or leave the file out of "
            "`url`");
  EXPECT_EQ(
      splits->Of("train-test.txt").status().message(),
      "splits: train-test.txt: matches the patterns of two splits, 'test' and 'train'; make one of them "
      "narrower");
}

TEST(FileSplitsTest, RefusesWhatIsNoMapOfPatterns) {
  EXPECT_EQ(WhyNot(Splits()), "");
  EXPECT_EQ(WhyNot(Json(Json::Object{})), "splits: there can be 1 to 256 splits, not 0");
  for (const Json& bad : {Json(0.5), Json(""), Json(Json::Array{}), Json(Json::Array{"a", ""}), Json(7)}) {
    Json splits = Splits();
    splits["dev"] = bad;
    EXPECT_EQ(WhyNot(splits),
              "splits: 'dev': write a pattern of names of files, or a list of them, e.g. \"*dev*\"");
  }
}

TEST(FileSplitsTest, EveryFileAndEverySplitHasItsOther) {
  Json config;
  EXPECT_TRUE(CheckInputSplits(config, {"whatever"}).ok());
  config["splits"] = Splits();
  EXPECT_TRUE(CheckInputSplits(config, {"a-train", "a-test", "b-test"}).ok());
  EXPECT_NE(CheckInputSplits(config, {"a-train", "a-test", "b"}).message().find("b: matches"),
            std::string::npos);
  EXPECT_EQ(CheckInputSplits(config, {"a-train"}).message(),
            "splits: 'test': no file matches its pattern, so it would be empty");
}

TEST(FileSplitsTest, TheSplitOfEachFileIsWhatItsNameSays) {
  Json config;
  EXPECT_EQ(SplitsOfFiles(config, {"a", "b"}), Strings());
  config["splits"] = Splits();
  EXPECT_EQ(SplitsOfFiles(config, {"a-train", "b-test", "neither", "part-01"}),
            (Strings{"train", "test", "", "train"}));
  EXPECT_EQ(ReadRowsType().taken_from_names(config, {"x-test"}), (Strings{"test"}));
  EXPECT_EQ(DecompressType().taken_from_names(config, {"x-test"}), (Strings{"test"}));
}

TEST(FileSplitsTest, TheSchemaGetsColumnAndNames) {
  Json config;
  Schema schema = TextSchema();
  ASSERT_TRUE(CheckFileSplits(config, schema).ok());
  EXPECT_EQ(schema, TextSchema());
  config["splits"] = Splits();
  ASSERT_TRUE(CheckFileSplits(config, schema).ok());
  EXPECT_EQ(schema.columns.at("split"), ColumnType::kU8);
  EXPECT_EQ(schema.splits, (Strings{"test", "train"}));
}

/// The splits of all records of a file that `type` reads, its repair included.
std::vector<int> Read(const StageType& type, const Json& config, const std::string& name,
                      const std::string& bytes) {
  std::vector<int> found;
  const auto stage = std::get<SourceFactory>(type.make)({"rows", config, {}});
  EXPECT_TRUE(stage.ok()) << stage.status().message();
  SourceRequest request;
  request.input = {name, std::make_shared<MemoryFile>(bytes)};
  request.wanted = [](std::uint32_t) { return true; };
  auto source = (*stage)->Open(std::move(request));
  if (!source.ok()) return {-1};
  const auto worker = (*stage)->repair()->NewWorker();
  Batch batch;
  while (true) {
    batch.Clear(1);
    const auto more = (*source)->Next(batch);
    EXPECT_TRUE(more.ok()) << more.status().message();
    if (!more.ok() || !*more) break;
    EXPECT_TRUE((*worker)->Apply(batch, 0, batch.counts[0]).ok());
    EXPECT_EQ(batch.split.size(), batch.size());
    found.insert(found.end(), batch.split.begin(), batch.split.end());
  }
  EXPECT_TRUE((*source)->End().has_value());
  return found;
}

TEST(FileSplitsTest, RecordsHaveTheSplitOfTheirFile) {
  Json rows;
  rows["format"] = "jsonl";
  rows["text"] = Json::Array{"t"};
  rows["partition"] = 64 << 20;
  rows["max_record_bytes"] = 8 << 20;
  for (const char* key : {"quoting", "compression", "archive"}) rows[key] = "auto";
  for (const char* key : {"on_bad_row", "on_long"}) rows[key] = "quarantine";
  rows["invalid_utf8"] = "replace";
  rows["splits"] = Splits();
  const std::string table = "{\"t\": \"one\\ntwo\\nthree\"}\n{\"torn\n{\"t\": \"four\"}\n";
  EXPECT_EQ(Read(ReadRowsType(), rows, "a-train", table), (std::vector{1, 1, 1, 1}));
  EXPECT_EQ(Read(ReadRowsType(), rows, "a-test", table), (std::vector{0, 0, 0, 0}));
  EXPECT_EQ(Read(ReadRowsType(), rows, "a-test", "{\"torn\n"), std::vector<int>());
  EXPECT_EQ(Read(ReadRowsType(), rows, "neither", table), std::vector{-1});

  Json lines = rows;
  lines["format"] = "auto";
  lines["documents"] = "line";
  lines["max_document_bytes"] = 64 << 20;
  EXPECT_EQ(Read(DecompressType(), lines, "a-train", "a\nb\n"), (std::vector{1, 1}));
}

Json DivideConfig(std::string_view of) {
  Json config;
  config["splits"] = Json::Array{Json::Array{"train", 0.5}, Json::Array{"validation", 0.5}};
  config["of"] = of;
  config["min_documents"] = 1;
  return config;
}

Schema DividedSchema() {
  Schema schema = TextSchema();
  schema.columns["split"] = ColumnType::kU8;
  schema.splits = {"dev", "test", "train", "zero"};
  return schema;
}

TEST(FileSplitsTest, OneOfThemCanBeDividedFurther) {
  Schema schema = DividedSchema();
  ASSERT_TRUE(SplitType().check(DivideConfig("train"), schema).ok());
  EXPECT_EQ(schema.splits, (Strings{"dev", "test", "train", "validation", "zero"}));

  const auto made =
      std::get<TransformFactory>(SplitType().make)({"split", DivideConfig("train"), DividedSchema()});
  ASSERT_TRUE(made.ok()) << made.status().message();
  Batch batch = BatchOf(Strings(400, "x"));
  for (std::size_t row = 0; row < batch.size(); ++row) {
    batch.heads[row].key = row * 77;
    batch.split.push_back(static_cast<std::uint8_t>(row % 4));
  }
  ApplyTo(batch, **made);
  const auto rule = SplitRule::Make(DivideConfig("train")["splits"]);
  std::map<int, int> counts;
  for (std::size_t row = 0; row < batch.size(); ++row) {
    ++counts[batch.split[row]];
    const int was = static_cast<int>(row % 4);
    const int wanted = was < 2 ? was : was == 3 ? 4 : 2 + rule->Of(row * 77);
    EXPECT_EQ(batch.split[row], wanted);
  }
  EXPECT_EQ(counts[0], 100);
  EXPECT_GT(counts[3], 25);

  ArtifactTotals totals;
  totals.splits["train"] = {.records = 9, .documents = 9, .bytes = 1};
  totals.splits["test"] = {.records = 90, .documents = 90, .bytes = 1};
  EXPECT_TRUE((*made)->Judge(totals).message().starts_with("split: split 'validation' has 0 of 9 documents"));
}

TEST(FileSplitsTest, WhatCannotBeDividedIsRefused) {
  const auto why = [](const Json& config, Schema schema) {
    return std::string(SplitType().check(config, schema).message());
  };
  EXPECT_EQ(why(DivideConfig("train"), TextSchema()),
            "of: the records that come in have no splits; leave it out");
  EXPECT_EQ(why(DivideConfig("trian"), DividedSchema()),
            "of: no split 'trian' comes in; there are dev, test, train, zero");
  EXPECT_EQ(why(DivideConfig("test"), DividedSchema()),
            "splits: a split 'train' comes in already; choose another name");
  Json plain = DivideConfig("train");
  plain.Remove("of");
  EXPECT_NE(why(plain, DividedSchema()).find("name the split to divide, e.g. `of: train`"),
            std::string::npos);
}

}  // namespace
}  // namespace pipeline
