#include <gtest/gtest.h>

#include <string>

#include "tests/cli/run_pipe.h"
#include "tests/verify/small_artifact.h"

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
      R"("other":0,"punctuation":0,"symbols":0},"records":3})"
      "\n");
}

TEST(StatsTest, WhatHasNoTextIsRefused) {
  const TempDir dir;
  std::string example;
  AppendTfExample(example, {{"ids", TfInt64List{1, 2}}});
  WriteFile(dir / "shard", Framed({TextExample("a"), example}));
  const Ran ids = RunPipe({"stats", dir / "shard"});
  EXPECT_EQ(ids.exit_code, 2);
  EXPECT_EQ(ids.out, "") << "a part of the numbers would pass for the whole";
  EXPECT_NE(ids.err.find("/shard: record at offset 33 has no text to count; `pipe cat` shows what it has"),
            std::string::npos)
      << ids.err;
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
