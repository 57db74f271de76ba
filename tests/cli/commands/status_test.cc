// `pipe status`: the counts of partitions, from the run log.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/json.h"
#include "base/str.h"
#include "dag/books/run_log.h"
#include "dag/books/work_dir.h"
#include "tests/cli/run_pipe.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

class StatusTest : public testing::Test {
 protected:
  StatusTest() {
    WriteFile(dir_ / "corpus.txt", "a line\n");
    WriteFile(dir_ / "p.yaml",
              "pipe: 1\nname: small\nstages:\n  source: { type: download, url: corpus.txt }\n"
              "  lines: { type: decompress, input: source }\n"
              "  rows: { type: write_jsonl, input: lines, out: out/rows }\n");
    EXPECT_TRUE(work_.Create().ok());
  }

  void Log(const std::string& unit, UnitState state, std::uint32_t partitions = 0,
           std::vector<PartitionEnd> cuts = {}) {
    const auto log = RunLog::Open(work_.log());
    ASSERT_TRUE(log.ok()) << log.status().message();
    UnitLine line;
    line.unit = unit;
    line.state = state;
    line.partitions = partitions;
    line.cuts = std::move(cuts);
    if (state == UnitState::kDone) line.records = 10;
    const Status appended = (*log)->Append(line);
    ASSERT_TRUE(appended.ok()) << appended.message();
  }

  /// The line of the stage `lines`, and its JSON.
  std::string Shown() const { return Told({}); }
  Json AsJson() const {
    const Result<Json> json = Json::Parse(Told({"--json"}));
    EXPECT_TRUE(json.ok());
    return json.ok() ? (*json)["stages"]["lines"] : Json();
  }

 private:
  std::string Told(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"status", dir_ / "p.yaml", "--work", work_.path()};
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = RunPipe(words);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    if (!more.empty()) return ran.out;
    const std::size_t at = ran.out.find("\nlines: ");
    return at == std::string::npos ? ran.out : ran.out.substr(at + 1, ran.out.find('\n', at + 1) - at - 1);
  }

  const TempDir dir_;
  const WorkDir work_{dir_ / "work"};
};

TEST_F(StatusTest, PartitionsOfAnInputThatGoesOnAreNoneOfThoseThatEnded) {
  for (const char* const unit : {"lines/0000-00000", "lines/0000-00001", "lines/0001-00000"})
    Log(unit, UnitState::kDone);
  EXPECT_EQ(Shown(), "lines: 3 partitions, 30 records") << "no input has ended";
  Log("lines/0000-*", UnitState::kEnd, 2);
  EXPECT_EQ(Shown(), "lines: 3 of at least 3 partitions, 30 records");
  EXPECT_EQ(AsJson()["partitions_of"].AsInt(), 3);
  EXPECT_EQ(AsJson()["inputs_ended"].AsInt(), 1);
  Log("lines/0001-*", UnitState::kEnd, 1);
  EXPECT_EQ(Shown(), "lines: 3 of 3 partitions, 30 records");
}

TEST_F(StatusTest, CutsTellHowManyPartitionsAnInputHas) {
  Log("lines/0000-00000", UnitState::kDone);
  Log("lines/0000-*", UnitState::kCuts, 0, {{10, 1}, {20, 2}});
  EXPECT_EQ(Shown(), "lines: 1 of at least 2 partitions, 10 records") << "first cuts";
  Log("lines/0000-*", UnitState::kCuts, 3, {{10, 1}, {20, 2}, {30, 3}});
  EXPECT_EQ(Shown(), "lines: 1 of 3 partitions, 10 records");
}

TEST_F(StatusTest, PartitionsOfALongerInputBeforeAreNotCounted) {
  for (const char* const unit : {"lines/0000-00000", "lines/0000-00001", "lines/0000-00002"})
    Log(unit, UnitState::kDone);
  Log("lines/0000-*", UnitState::kEnd, 2);
  EXPECT_EQ(Shown(), "lines: 2 of 2 partitions, 20 records");
}

}  // namespace
}  // namespace pipeline
