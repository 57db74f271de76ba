#include <gtest/gtest.h>

#include <string>

#include "tests/cli/run_pipe.h"
#include "tests/stages/verify/published_kinds.h"
#include "tests/stages/verify/small_artifact.h"
#include "tests/support/archive.h"
#include "tests/support/compress.h"

namespace pipeline {
namespace {

TEST(StatsTest, CountsADataSet) {
  const TempDir dir;
  const SmallDataSet set = GoodDataSet(dir / "out");  // 猫が鳴く, two lines, three, four
  const Ran ran = RunPipe({"stats", set.place()});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.err, "");
  EXPECT_EQ(ran.out,
            "4 records, 22 characters, 30 bytes (30 B)\n"
            "\n"
            "characters in a record: 4 to 9, mean 5.5; 5 % have at most 4, half 4, 95 % 9, 99 % 9\n"
            "   4 - 7  3  75.00 %  ########################################\n"
            "  8 - 15  1  25.00 %  #############\n"
            "\n"
            "characters by class, without white space and marks (1):\n"
            "        latin  17  80.95 %  ########################################\n"
            "     hiragana   2   9.52 %  ####\n"
            "        kanji   2   9.52 %  ####\n"
            "  punctuation   0   0.00 %\n"
            "      symbols   0   0.00 %\n"
            "       digits   0   0.00 %\n"
            "     katakana   0   0.00 %\n"
            "       hangul   0   0.00 %\n"
            "        other   0   0.00 %\n");
}

TEST(StatsTest, CountsPartitionsAsJson) {
  const TempDir dir;
  GoodIntermediate(dir / "docs");  // one, two, three
  EXPECT_EQ(
      RunPipe({"stats", dir / "docs", "--json"}).out,
      R"({"bytes":11,"characters":{"histogram":[[2,3,2],[4,7,1]],"max":5,"mean":3.6666666666666665,"min":3,)"
      R"("quantiles":{"0.05":3,"0.25":3,"0.5":3,"0.75":5,"0.95":5,"0.99":5},"sum":11},)"
      R"("classes":{"digits":0,"hangul":0,"hiragana":0,"kanji":0,"katakana":0,"latin":11,"none":0,)"
      R"("other":0,"punctuation":0,"symbols":0},"documents":1,"records":3})"
      "\n");
}

/// Returns the output of --json. The test fails if the exit code is not 0.
Json Stats(const std::string& place) {
  const Ran ran = RunPipe({"stats", place, "--json"});
  EXPECT_EQ(ran.exit_code, 0) << place << ": " << ran.err;
  return Json::Parse(ran.out).ok() ? *Json::Parse(ran.out) : Json();
}

TEST(StatsTest, ReadsEveryExportFormat) {
  for (const PublishedKind& kind : PublishedKinds()) {
    const TempDir dir;
    const Manifest manifest = PublishKind(kind, dir / "out");
    std::uint64_t records = 0;
    for (const auto& [name, split] : manifest.splits) records += split.records;
    const Json stats = Stats(dir / "out");
    const bool has_ids =
        kind.name.starts_with("packed") || kind.name == "tfdata" || kind.name.starts_with("bert");
    EXPECT_EQ(stats.Has("ids"), has_ids) << kind.name;
    // Rows and examples of ids, and pairs, are others than lines.
    const bool is_lines = !has_ids && kind.name != "jsonl_pairs";
    EXPECT_EQ(stats["records"].AsInt(),
              is_lines ? static_cast<std::int64_t>(records) : stats["records"].AsInt())
        << kind.name;
    EXPECT_GT(stats["records"].AsInt(), 0) << kind.name;
    EXPECT_GT(stats[has_ids ? "ids" : "characters"]["sum"].AsInt(), 0) << kind.name;
  }
}

TEST(StatsTest, RowsWithWeightsCountNoTextBecauseTheirIndexHasThatOfScoredTargetsAlone) {
  for (const PublishedKind& kind : PublishedKinds()) {
    if (!kind.name.starts_with("packed") || kind.name.starts_with("packed_mmap")) continue;
    const TempDir dir;
    PublishKind(kind, dir / "out");
    const bool scores_all = kind.name != "packed_weights" && kind.name != "packed_labels";
    EXPECT_EQ(Stats(dir / "out").Has("characters"), scores_all) << kind.name;
  }
}

TEST(StatsTest, RowsOfIdsCountWithoutWhatFillsThem) {
  const TempDir dir;
  std::string row;
  AppendTfExample(row,
                  {{"input_ids", TfInt64List{2, 9, 3, 0, 0}}, {"input_mask", TfInt64List{1, 1, 1, 0, 0}}});
  WriteFile(dir / "shard", Framed({row, row}));
  EXPECT_EQ(RunPipe({"stats", dir / "shard"}).out,
            "2 records, 6 ids\n"
            "\n"
            "ids in a record: 3 to 3, mean 3.0; 5 % have at most 3, half 3, 95 % 3, 99 % 3\n"
            "  2 - 3  2 100.00 %  ########################################\n");
}

TEST(StatsTest, LinesOfTextAreRecordsAndBlankOnesEndDocuments) {
  const TempDir dir;
  WriteFile(dir / "a.txt", "猫\n犬と猫\r\n\n \n鳥\n\n");
  const Json stats = Stats(dir / "a.txt");
  EXPECT_EQ(stats["records"].AsInt(), 3);
  EXPECT_EQ(stats["documents"].AsInt(), 2);
  EXPECT_EQ(stats["characters"]["sum"].AsInt(), 5);
  WriteFile(dir / "a.txt.gz", GzipCompress(ReadFile(dir / "a.txt")));
  EXPECT_EQ(Stats(dir / "a.txt.gz"), stats);
}

TEST(StatsTest, AMemberOfAnArchiveEndsADocument) {
  const TempDir dir;
  WriteFile(dir / "a.zip",
            Zip({{"1", "\xEF\xBB\xBF一\n二"}, {"empty", ""}, {"2", "三\n"}, {"3", "\n四\n\n"}, {"4", "五"}}));
  const Json stats = Stats(dir / "a.zip");
  EXPECT_EQ(stats["records"].AsInt(), 5);
  EXPECT_EQ(stats["documents"].AsInt(), 4);
  EXPECT_EQ(stats["characters"]["sum"].AsInt(), 5);
  EXPECT_EQ(RunPipe({"cat", dir / "a.zip"}).out, "一\n二\n\n三\n\n\n四\n\n五\n");
}

TEST(StatsTest, TextIsCountedAsARunReadsIt) {
  const TempDir dir;
  // Shift_JIS: "猫が鳴く。", a line of U+3000, and "猫が鳴く。" once more.
  const std::string cat = "\x94\x4c\x82\xaa\x96\xc2\x82\xad\x81\x42\n";
  WriteFile(dir / "a.txt", cat + "\x81\x40\n" + cat);
  const Json stats = Stats(dir / "a.txt");
  EXPECT_EQ(stats["records"].AsInt(), 2);
  EXPECT_EQ(stats["documents"].AsInt(), 2);
  EXPECT_EQ(stats["characters"]["sum"].AsInt(), 10);
}

TEST(StatsTest, JsonLinesCountTheirTexts) {
  const TempDir dir;
  WriteFile(dir / "a.jsonl",
            "{\"id\": 7, \"text\": \"猫\"}\n\n{\"inputs\": [\"a\", \"bc\"], \"targets\": \"d\"}");
  const Json stats = Stats(dir / "a.jsonl");
  EXPECT_EQ(stats["records"].AsInt(), 2);
  EXPECT_EQ(stats["characters"]["sum"].AsInt(), 5);
  EXPECT_FALSE(stats.Has("documents"));
  for (const char* text : {"{\"id\": 7}\n", "[1]\n", "{\n"}) {
    WriteFile(dir / "a.jsonl", StrCat("{\"text\": \"a\"}\n", text));
    const Ran ran = RunPipe({"stats", dir / "a.jsonl"});
    EXPECT_EQ(ran.exit_code, 2) << text;
    EXPECT_EQ(ran.out, "");
    EXPECT_NE(ran.err.find("a.jsonl: line 2: "), std::string::npos) << ran.err;
  }
}

TEST(StatsTest, WhatHasNothingToCountIsRefused) {
  const TempDir dir;
  std::string example;
  AppendTfExample(example, {{"ids", TfInt64List{1, 2}}});
  WriteFile(dir / "shard", Framed({TextExample("a"), example}));
  const Ran ids = RunPipe({"stats", dir / "shard"});
  EXPECT_EQ(ids.exit_code, 2);
  EXPECT_EQ(ids.out, "") << "a part of the numbers would pass for the whole";
  EXPECT_NE(ids.err.find("/shard: record 1 (from 0) has no text to count; `pipe cat` shows its content"),
            std::string::npos)
      << ids.err;
  std::string image;
  AppendTfExample(image, {{"image", TfBytesList{"\xff\xd8"}}});
  WriteFile(dir / "shard", Framed({image}));
  EXPECT_EQ(RunPipe({"stats", dir / "shard"}).exit_code, 2);
  WriteFile(dir / "run.log", "# pipe run log v1\n");
  EXPECT_EQ(RunPipe({"stats", dir / "run.log"}).exit_code, 2);
  EXPECT_EQ(RunPipe({"stats", dir / "nothing"}).exit_code, 2);
}

TEST(StatsTest, DamageGivesNoNumbers) {
  const TempDir dir;
  const SmallDataSet set = GoodDataSet(dir / "out");
  std::string shard = ReadFile(set.Path(kFirstShard));
  shard.back() ^= 1;
  WriteFile(set.Path(kFirstShard), shard);
  const Ran ran = RunPipe({"stats", set.place()});
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_EQ(ran.out, "");
  EXPECT_NE(ran.err.find(set.Path(kFirstShard) + ": record at offset "), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace pipeline
