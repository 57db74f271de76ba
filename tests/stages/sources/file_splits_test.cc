#include "stages/sources/file_splits.h"

#include <gtest/gtest.h>

#include "stages/lines/split.h"
#include "stages/sources/source_stages.h"
#include "tests/stages/batches.h"
#include "tests/support/archive.h"
#include "tests/support/compress.h"
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

std::string WhyNoSplits(const Json& splits) {
  return std::string(FileSplits::Make(splits).status().message());
}

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
  EXPECT_EQ(WhyNoSplits(Splits()), "");
  EXPECT_EQ(WhyNoSplits(Json(Json::Object{})), "splits: there can be 1 to 256 splits, not 0");
  for (const Json& bad : {Json(0.5), Json(""), Json(Json::Array{}), Json(Json::Array{"a", ""}), Json(7)}) {
    Json splits = Splits();
    splits["dev"] = bad;
    EXPECT_EQ(WhyNoSplits(splits),
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

TEST(FileSplitsTest, WhatIsInAnArchiveNobodyKnowsBefore) {
  Json config;
  config["splits"] = Splits();
  for (const char* archive : {"auto", "tar", "zip"}) {
    config["archive"] = archive;
    for (const char* name : {"all.tar", "all.tar.gz", "all.tgz", "all.zip"})
      EXPECT_TRUE(CheckInputSplits(config, {name, "a-train"}).ok()) << name;
    EXPECT_EQ(CheckInputSplits(config, {"all.bin"}).ok(), std::string(archive) != "auto");
    EXPECT_TRUE(
        CheckInputSplits(config, {"train-test.zip"})
            .message()
            .ends_with(
                "of two splits, 'test' and 'train'; make one of them narrower; if it is an archive whose "
                "members have splits, write patterns with '/', which no name of a file has"));
  }
  config["archive"] = "auto";
  EXPECT_TRUE(
      CheckInputSplits(config, {"all.bin"})
          .message()
          .ends_with("`url`; if it is an archive and its members have splits, say `archive: tar` or `zip`"));
  config["archive"] = "none";
  EXPECT_FALSE(CheckInputSplits(config, {"all.zip"}).ok());
  config.Remove("archive");  // of a stage that reads none
  EXPECT_FALSE(CheckInputSplits(config, {"all.zip"}).ok());
  EXPECT_EQ(SplitsOfFiles(config, {"all.zip", "test.zip"}), (Strings{"", "test"}));
}

TEST(FileSplitsTest, TheSplitOfEachFileIsWhatItsNameSays) {
  Json config;
  EXPECT_EQ(SplitsOfFiles(config, {"a", "b"}), Strings());
  config["splits"] = Splits();
  EXPECT_EQ(SplitsOfFiles(config, {"a-train", "b-test", "neither", "part-01"}),
            (Strings{"train", "test", "", "train"}));
  EXPECT_EQ(ReadRowsType().source()->taken_from_names(config, {"x-test"}), (Strings{"test"}));
  EXPECT_EQ(DecompressType().source()->taken_from_names(config, {"x-test"}), (Strings{"test"}));
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

struct Found {
  std::vector<int> splits;  // of all records
  Strings records;          // SPLIT:TEXT
  Status status;
  InputEnd end;
};

/// What `type` makes of a file, its repair included.
Found ReadWhole(const StageType& type, const Json& config, const std::string& name, const std::string& bytes,
                std::size_t batch_bytes = 256 << 10, std::uint32_t first_wanted = 0) {
  Found all;
  const auto stage = type.source()->make({"rows", config, {}});
  EXPECT_TRUE(stage.ok()) << stage.status().message();
  SourceRequest request;
  request.input = {name, std::make_shared<MemoryFile>(bytes)};
  request.wanted = [=](std::uint32_t partition) { return partition >= first_wanted; };
  request.batch_bytes = batch_bytes;
  auto source = (*stage)->Open(std::move(request));
  if (!source.ok()) {
    all.status = source.status();
    return all;
  }
  const auto worker = (*stage)->repair()->NewWorker();
  Batch batch;
  while (true) {
    batch.Clear(1);
    const auto more = (*source)->Next(batch);
    all.status = more.status();
    if (!more.ok()) return all;
    if (!*more) break;
    EXPECT_TRUE((*worker)->Apply(batch, 0, batch.counts[0]).ok());
    EXPECT_EQ(batch.split.size(), batch.size());
    all.splits.insert(all.splits.end(), batch.split.begin(), batch.split.end());
    for (std::size_t row = 0; row < batch.size(); ++row)
      all.records.push_back(std::to_string(batch.split[row]) + ":" + std::string(batch.text[row]));
  }
  const std::optional<InputEnd> end = (*source)->End();
  EXPECT_TRUE(end.has_value());
  all.end = end.value_or(InputEnd());
  ArtifactTotals totals;
  totals.counts = all.end.outside;
  all.status = (*stage)->CheckCounts(totals);
  return all;
}

std::vector<int> SplitsRead(const StageType& type, const Json& config, const std::string& name,
                            const std::string& bytes) {
  const Found found = ReadWhole(type, config, name, bytes);
  // Alone, one of them is not enough for two splits.
  return found.status.ok() || found.status.message().find("no text in an archive") != std::string_view::npos
             ? found.splits
             : std::vector{-1};
}

Json LineConfig() {
  Json config;
  config["format"] = config["archive"] = "auto";
  config["documents"] = "line";
  config["partition"] = config["max_document_bytes"] = 64 << 20;
  config["max_record_bytes"] = 8 << 20;
  config["on_long"] = "quarantine";
  config["invalid_utf8"] = "replace";
  config["splits"] = Splits();
  return config;
}

using Reasons = decltype(StageCounts::reasons);

TEST(FileSplitsTest, RecordsHaveTheSplitOfTheirMember) {
  const std::vector<TestMember> members = {
      {"x/", "", '5'},           {"x/train/1", "a\nb"},  // a last line without its end
      {"x/test/1", "c\n\xFF\n"}, {"x/test/empty", ""},  {"x/train/2", "\uFEFFd\n\ne\n"}, {"part-03", "f"}};
  const Strings wanted = {"1:a", "1:b", "0:c", "0:\uFFFD", "1:d", "1:e", "1:f"};
  for (const auto& [name, bytes] : std::map<std::string, std::string>{
           {"all.tar", Tar(members)}, {"all.tar.gz", GzipCompress(Tar(members))}, {"all.zip", Zip(members)}})
    for (const std::size_t batch : {1u, 3u, 1u << 18}) {
      const Found found = ReadWhole(DecompressType(), LineConfig(), name, bytes, batch);
      EXPECT_TRUE(found.status.ok()) << found.status.message();
      EXPECT_EQ(found.records, wanted) << name;
      EXPECT_EQ(found.end.outside.reasons,
                (Reasons{{"members", 5}, {"members_not_files", 1}, {"split_test", 1}, {"split_train", 3}}))
          << name;
    }
  // Wherever a run goes on.
  Json small = LineConfig();
  small["partition"] = 3;
  for (const std::uint32_t first : {1u, 2u, 3u}) {
    const Found found = ReadWhole(DecompressType(), small, "all.tar", Tar(members), 1 << 18, first);
    EXPECT_EQ(found.records,
              Strings(wanted.end() - static_cast<std::ptrdiff_t>(found.records.size()), wanted.end()));
    EXPECT_LT(found.records.size(), wanted.size());
    EXPECT_EQ(found.end.outside.reasons.at("split_train"), 3u);
  }
}

TEST(FileSplitsTest, AnArchiveWhoseOwnNameSaysItBelongsToOneSplit) {
  const std::string bytes = Tar({{"test/1", "a\n"}, {"neither", "b\n"}});
  const Found found = ReadWhole(DecompressType(), LineConfig(), "my-train.tar", bytes);
  EXPECT_EQ(found.records, (Strings{"1:a", "1:b"}));
  EXPECT_EQ(found.end.outside.reasons.at("split_train"), 1u);
}

TEST(FileSplitsTest, MembersWithoutASplitOrWithTwoAreRefused) {
  const auto why = [](const Json& config, const std::vector<TestMember>& members) {
    return std::string(ReadWhole(DecompressType(), config, "all.tar", Tar(members)).status.message());
  };
  Json config = LineConfig();
  EXPECT_EQ(why(config, {{"x/train/1", "a\n"}, {"x/README", "b\n"}, {"x/test/1", "c"}}),
            "all.tar: splits: member 'x/README' matches the pattern of no split; add one for it, or leave it "
            "out with `members`");
  EXPECT_EQ(
      why(config, {{"train/test", "a\n"}}),
      "all.tar: splits: train/test: matches the patterns of two splits, 'test' and 'train'; make one of "
      "them narrower");
  EXPECT_EQ(why(config, {{"x/train/1", "a\n"}, {"x/test/1", ""}}),
            "splits: 'test': no file and no text in an archive has a name that its pattern describes");
  config["members"] = Json::Array{"*/1"};
  EXPECT_EQ(why(config, {{"x/train/1", "a\n"}, {"x/README", "b\n"}, {"x/test/1", "c"}}), "");
}

TEST(FileSplitsTest, ABeginningHasTheFirstDocumentsOfEachSplit) {
  const std::vector<TestMember> members = {
      {"train/1", "a\n"},    {"train/2", "\n\nb\nc\nd\n"}, {"train/3", "e\n\xFF\xFE"},
      {"test/1", "f\ng\nh"}, {"train/4", "i\n"},           {"test/damaged", std::string("\xFF\xFE\0\0", 4)}};
  Json config = LineConfig();
  config["subset"] = "2";
  for (const std::size_t batch : {1u, 1u << 18}) {
    const Found found = ReadWhole(DecompressType(), config, "all.tar", Tar(members), batch);
    EXPECT_TRUE(found.status.ok()) << found.status.message();
    EXPECT_EQ(found.records, (Strings{"1:a", "1:b", "0:f", "0:g"}));
    EXPECT_EQ(found.end.documents, 4u);
    EXPECT_EQ(found.end.partitions, 1u);
  }
  config["subset"] = "18446744073709551614";  // more than there are: all
  EXPECT_EQ(ReadWhole(DecompressType(), config, "all.tar", Tar({{"train", "a\nb\n"}, {"test", "c"}})).records,
            (Strings{"1:a", "1:b", "0:c"}));
  config["subset"] = "100%";
  EXPECT_EQ(ReadWhole(DecompressType(), config, "all.tar", Tar({{"train", "a\nb\n"}, {"test", "c"}})).records,
            (Strings{"1:a", "1:b", "0:c"}));
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
  EXPECT_EQ(SplitsRead(ReadRowsType(), rows, "a-train", table), (std::vector{1, 1, 1, 1}));
  EXPECT_EQ(SplitsRead(ReadRowsType(), rows, "a-test", table), (std::vector{0, 0, 0, 0}));
  EXPECT_EQ(SplitsRead(ReadRowsType(), rows, "a-test", "{\"torn\n"), std::vector<int>());
  EXPECT_EQ(SplitsRead(ReadRowsType(), rows, "neither", table), std::vector{-1});

  EXPECT_EQ(SplitsRead(DecompressType(), LineConfig(), "a-train", "a\nb\n"), (std::vector{1, 1}));
  // A header for each member; bad rows have no split.
  rows["format"] = "tsv";
  rows["header"] = true;
  const std::string archive =
      Zip({{"train.tsv", "t\tu\nx\ty\nbad\n"}, {"test.tsv", "u\tt\ny\tx\n"}, {"part-01", "t\nx\n"}});
  EXPECT_EQ(ReadWhole(ReadRowsType(), rows, "all.zip", archive).records, (Strings{"1:x", "0:x", "1:x"}));
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

  const auto made = SplitType().transform()->make({"split", DivideConfig("train"), DividedSchema()});
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
  EXPECT_TRUE((*made)->CheckCounts(totals).message().starts_with("split 'validation' has 0 of 9 documents"));
}

TEST(FileSplitsTest, WhatCannotBeDividedIsRefused) {
  const auto why = [](const Json& config, Schema schema) {
    return std::string(SplitType().check(config, schema).message());
  };
  EXPECT_EQ(why(DivideConfig("train"), TextSchema()),
            "of: the records that come in have no splits; leave it out");
  EXPECT_EQ(why(DivideConfig("trian"), DividedSchema()),
            "of: no split 'trian' comes in; did you mean 'train'?");
  EXPECT_EQ(why(DivideConfig("test"), DividedSchema()),
            "splits: a split 'train' comes in already; choose another name");
  Json plain = DivideConfig("train");
  plain.Remove("of");
  EXPECT_NE(why(plain, DividedSchema()).find("name the split to divide, e.g. `of: train`"),
            std::string::npos);
}

}  // namespace
}  // namespace pipeline
