#include "plugins/train/rotating_log.h"

#include <gtest/gtest.h>

#include "base/str.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

TEST(RotatingLogTest, KeepsTheLastLinesWithoutWhatWouldDriveATerminal) {
  const TempDir directory;
  RotatingLog log(directory / "a.log");
  for (int line = 0; line < 1000; ++line) log.Append(StrCat("line ", line, "\n"));
  log.Append("\x1b[31mhalf ");
  log.Append("a line");
  const std::vector<std::string> tail = log.Tail();
  ASSERT_EQ(tail.size(), RotatingLog::kLines);
  EXPECT_EQ(tail.front(), "line 801");
  EXPECT_EQ(tail.back(), " [31mhalf a line");
}

TEST(RotatingLogTest, TextBehindAReturnReplacesTheLine) {
  const TempDir directory;
  RotatingLog log(directory / "a.log");
  log.Append("10 %\r20");
  log.Append(" %\r30 %\r");
  EXPECT_EQ(log.Tail(), std::vector<std::string>{"30 %"});
  log.Append("\nnext\r\n");
  EXPECT_EQ(log.Tail(), (std::vector<std::string>{"30 %", "next"}));
}

TEST(RotatingLogTest, TakesNoMoreThanTwiceItsSize) {
  const TempDir directory;
  {
    RotatingLog log(directory / "a.log", 1000);
    for (int line = 0; line < 1000; ++line) log.Append("0123456789\n");
  }
  EXPECT_LE(ReadFile(directory / "a.log").size(), 1000u);
  EXPECT_LE(ReadFile(directory / "a.log.1").size(), 1000u);
  EXPECT_GT(ReadFile(directory / "a.log.1").size(), 500u);
}

TEST(RotatingLogTest, LineWithoutAnEndTakesNoMemory) {
  const TempDir directory;
  RotatingLog log(directory / "a.log");
  for (int piece = 0; piece < 100; ++piece) log.Append(std::string(100'000, 'x'));
  EXPECT_LE(log.Tail().at(0).size(), RotatingLog::kMostLine + 3);
}

TEST(RotatingLogTest, WithoutAFileTheLastLinesAreKeptAllTheSame) {
  RotatingLog log("/nowhere/at/all.log");
  log.Append("why\n");
  EXPECT_EQ(log.Tail(), std::vector<std::string>{"why"});
}

}  // namespace
}  // namespace pipeline
