#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "cli/live/pace.h"
#include "cli/live/run_now.h"
#include "cli/terminal/columns.h"
#include "dag/progress.h"

namespace pipeline {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(PaceTest, SaysNothingBeforeItKnows) {
  Pace pace;
  EXPECT_FALSE(pace.Left(seconds(0), 100));
  pace.Note(seconds(10), 50);  // an earlier run may have done it
  EXPECT_FALSE(pace.Left(seconds(11), 100));
  pace.Note(seconds(11), 60);
  EXPECT_FALSE(pace.Left(seconds(11), 100)) << "a second is not enough";
  pace.Note(seconds(13), 80);
  EXPECT_NEAR(pace.Left(seconds(13), 100).value_or(0), 2, 0.01);
  EXPECT_NEAR(pace.Rate(seconds(13)), 10, 0.01);
}

/// A tokenizer reads its text in a second, and then trains for two minutes without a known end.
TEST(PaceTest, WhatStandsStillHasNoEnd) {
  Pace pace;
  for (int at = 0; at <= 30; ++at) pace.Note(milliseconds(100 * at), static_cast<std::uint64_t>(33 * at));
  EXPECT_TRUE(pace.Left(seconds(3), 1000));
  for (int at = 3; at < 120; ++at) {
    pace.Note(seconds(at), 990);
    if (at > 8) {
      EXPECT_FALSE(pace.Left(seconds(at), 1000)) << at;
    }
  }
}

TEST(PaceTest, LongStepsAreWaitedFor) {
  Pace pace;
  for (int step = 0; step < 5; ++step) pace.Note(seconds(20 * step), static_cast<std::uint64_t>(step));
  EXPECT_NEAR(pace.Left(seconds(80), 10).value_or(0), 120, 1);
  EXPECT_TRUE(pace.Left(seconds(110), 10)) << "half a minute is no standstill for steps of twenty seconds";
  EXPECT_FALSE(pace.Left(seconds(200), 10));
}

/// Steps are told every five seconds, and the time that is left goes on meanwhile.
TEST(PaceTest, WhatIsLeftNeitherGrowsNorJumpsBetweenTwoChanges) {
  Pace pace;
  pace.Note(seconds(0), 0);
  for (int at = 5; at <= 20; at += 5) {
    pace.Note(seconds(at), static_cast<std::uint64_t>(at));
    for (int more = 0; more < 5; ++more)
      EXPECT_NEAR(pace.Left(seconds(at + more), 100).value_or(0), 100 - at - more, 0.01) << at << "+" << more;
  }
  EXPECT_NEAR(pace.Left(seconds(30), 100).value_or(0), 90, 0.01) << "it has become slower";
}

TEST(PaceTest, GoesByTheLastMinuteAndBeginsAnewWithLess) {
  Pace pace;
  std::uint64_t done = 0;
  for (int at = 0; at < 300; ++at) pace.Note(seconds(at), done += at < 200 ? 1 : 100);
  EXPECT_NEAR(pace.Rate(seconds(299)), 100, 2);
  pace.Note(seconds(300), 5);
  EXPECT_FALSE(pace.Left(seconds(300), 100));
}

/// The Source looks for the first partition that is lacking, and then has to read from the front.
TEST(WayToNewTextTest, IsToldFromTheFirstByteThatIsPassedOverToTheFirstNewOne) {
  RunningUnit unit("text/0000-*", {"text"}, 1000);
  WayToNewText way(unit, std::uint64_t{3} << 20);
  for (const std::uint64_t at : {0, 1, 2}) way.Passes(at << 20);
  EXPECT_EQ(unit.of, 0u) << "nothing is read yet";
  way.Wants();
  for (const std::uint64_t at : {0, 1, 2}) {
    way.Passes(at << 20);
    EXPECT_EQ(unit.said(), "skipping to 3.00 MiB of text, where the earlier run ended");
    EXPECT_EQ(unit.done, at << 20);
    EXPECT_EQ(unit.of, 3u << 20);
  }
  way.Wants();
  EXPECT_EQ(unit.said(), "");
  EXPECT_EQ(unit.of, 0u);
  way.Passes(std::uint64_t{5} << 20);
  EXPECT_EQ(unit.said(), "") << "what comes behind is not where it ended";
}

TEST(WayToNewTextTest, SaysNothingWithoutAnEarlierRun) {
  RunningUnit unit("text/0000-*", {"text"}, 1000);
  WayToNewText way(unit, 0);
  way.Wants();
  way.Passes(7);
  EXPECT_EQ(unit.said(), "");
}

TEST(ColumnsTest, NoLineIsWiderThanItsTerminal) {
  EXPECT_EQ(ColumnsOf("abc"), 3u);
  EXPECT_EQ(ColumnsOf("吾輩は猫"), 8u);
  EXPECT_EQ(FitColumns("[吾輩/-] 45% of it", 10), "[吾輩/-...");
  EXPECT_EQ(FitColumns("abc", 3), "abc");
  EXPECT_EQ(FitColumns("abcd", 3), "...");
  EXPECT_EQ(FitColumns("abcd", 0), "");
  for (std::size_t width = 0; width < 30; ++width)
    for (const std::string line :
         {"tokenizer 吾輩は猫である。名前はまだ無い", "\xFF\xE5\x90", "ｶﾞｷﾞｸﾞ mixed か\xE3\x82\x99 text"})
      EXPECT_LE(ColumnsOf(FitColumns(line, width)), width) << line << " in " << width;
}

TEST(RunNowTest, ComesBackAndIsHeldToNothingElse) {
  RunNow now;
  now.at = 12.5, now.cpu = 20, now.rss = 3, now.to_disk = 4, now.written = 5;
  now.units.push_back({"tokenizer/-", 1.5, 2, 3, 4, 5, "training", 6.5, 7});
  now.shards["text"] = {3, 8};
  const std::string text = EncodeNow(now);
  const std::optional<RunNow> back = ParseNow(text);
  ASSERT_TRUE(back);
  EXPECT_EQ(EncodeNow(*back), text);
  for (std::size_t cut = 0; cut + 1 < text.size(); ++cut) EXPECT_FALSE(ParseNow(text.substr(0, cut))) << cut;
  const std::optional<RunNow> wild = ParseNow(
      "{\"now\":1,\"at\":-5,\"cpu\":\"x\",\"units\":[1,{\"unit\":7,\"done\":-1}],\"shards\":{\"a\":[1],\"b\":"
      "3}}");
  ASSERT_TRUE(wild);
  EXPECT_EQ(wild->at, 0);
  EXPECT_EQ(wild->units.size(), 2u);
  EXPECT_TRUE(wild->shards.empty());
  EXPECT_FALSE(ParseNow("{\"now\":2}"));
}

}  // namespace
}  // namespace pipeline
