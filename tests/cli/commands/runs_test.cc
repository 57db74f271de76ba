// `pipe runs`: the list of runs, from the run log and the records.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/str.h"
#include "cli/report/run_recorder.h"
#include "dag/books/run_log.h"
#include "dag/books/work_dir.h"
#include "tests/cli/run_pipe.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

class RunsTest : public testing::Test {
 protected:
  RunsTest() {
    WriteFile(dir_ / "corpus.txt", "a line\n");
    WriteFile(dir_ / "p.yaml",
              "pipe: 1\nname: small\nstages:\n  source: { type: download, url: corpus.txt }\n"
              "  lines: { type: decompress, input: source }\n"
              "  rows: { type: write_jsonl, input: lines, out: out/rows }\n");
    EXPECT_TRUE(work_.Create().ok());
  }

  void AddRun(const RunLine& line) {
    const auto log = RunLog::Open(work_.log());
    ASSERT_TRUE(log.ok()) << log.status().message();
    ASSERT_TRUE((*log)->AppendRun(line).ok());
  }

  /// Writes the record of a run with two moments.
  void AddRecord(const std::string& id, bool ends) {
    std::filesystem::create_directories(work_.run(id));
    RecordedBegin begin;
    begin.id = id;
    RecordedMoment first, second;
    first.at = 2, first.cpu = 3, first.rss = 5 << 20, first.written = 10;
    second.at = 4, second.cpu = 7, second.rss = 4 << 20, second.written = 2048;
    std::string lines = EncodeEvent(begin) + EncodeEvent(first) + EncodeEvent(second);
    if (ends) {
      RecordedEnd end;
      end.peak_rss = 6 << 20;
      lines += EncodeEvent(end);
    }
    WriteFile(StrCat(work_.run(id), "/", kRecordName), lines);
  }

  Ran Runs(std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {"runs", dir_ / "p.yaml", "--work", work_.path()};
    words.insert(words.end(), more.begin(), more.end());
    return RunPipe(words);
  }
  Json Listed(const std::vector<std::string>& more = {"--json"}) const {
    const Ran ran = Runs(more);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    const Result<Json> json = Json::Parse(ran.out);
    EXPECT_TRUE(json.ok()) << ran.out;
    return json.ok() ? *json : Json();
  }

  const TempDir dir_;
  const WorkDir work_{dir_ / "work"};
};

TEST_F(RunsTest, NothingRanYet) {
  EXPECT_NE(Runs().out.find("nothing ran yet in"), std::string::npos);
  const Ran listed = Runs({"--json"});
  EXPECT_EQ(listed.exit_code, 2);
  EXPECT_EQ(listed.out, "[]\n");
}

TEST_F(RunsTest, NewestRunIsFirstWithTheNumbersOfItsRecord) {
  AddRun({"1-1", 1, "pipe run p.yaml", 1'000'000, 1'090'000, "failed"});
  AddRun({"2-1", 1, "pipe retry p.yaml", 2'000'000, 2'005'000, "done"});
  AddRecord("2-1", true);
  WriteFile(StrCat(work_.run("2-1"), "/report.html"), "a page");
  const Json runs = Listed();
  ASSERT_EQ(runs.AsArray().size(), 2u);
  const Json &newest = runs.AsArray()[0], &first = runs.AsArray()[1];
  EXPECT_EQ(newest["id"].AsString(), "2-1");
  EXPECT_EQ(newest["outcome"].AsString(), "done");
  EXPECT_EQ(newest["command"].AsString(), "pipe retry p.yaml");
  EXPECT_EQ(newest["seconds"].AsDouble(), 5);
  EXPECT_EQ(newest["cpu"].AsDouble(), 7);
  EXPECT_EQ(newest["peak_rss"].AsInt(), 6 << 20);
  EXPECT_EQ(newest["written"].AsInt(), 2048);
  EXPECT_EQ(newest["report"].AsString(), StrCat(work_.run("2-1"), "/report.html"));
  EXPECT_EQ(first["outcome"].AsString(), "failed");
  EXPECT_EQ(first["seconds"].AsDouble(), 90);
  EXPECT_FALSE(first.Has("report"));
}

TEST_F(RunsTest, RunWithoutAnOutcomeWasKilledAndLastedUntilItsLastMoment) {
  AddRun({"1-1", 1, "pipe run p.yaml", 1'000'000, 0, ""});
  AddRecord("1-1", false);
  const Json run = Listed().AsArray().at(0);
  EXPECT_EQ(run["outcome"].AsString(), "killed");
  EXPECT_EQ(run["seconds"].AsDouble(), 4);
  EXPECT_EQ(run["peak_rss"].AsInt(), 5 << 20);
}

TEST_F(RunsTest, ColumnsLineUpAndALimitLeavesTheNewest) {
  AddRun({"1-1", 1, "pipe run p.yaml", 1'000'000, 1'090'000, "cancelled"});
  AddRun({"2000000000000-12345", 1, "pipe run p.yaml -n", 2'000'000, 2'005'000, "done"});
  std::istringstream text(Runs().out);
  std::string head, newest, oldest, more;
  std::getline(text, head), std::getline(text, newest), std::getline(text, oldest);
  EXPECT_FALSE(std::getline(text, more));
  EXPECT_EQ(head.substr(0, 4), "RUN ");
  for (const auto& [word, in_newest, in_oldest] :
       {std::tuple{"OUTCOME", "done", "cancelled"}, {"COMMAND", "pipe run p.yaml -n", "pipe run p.yaml"}}) {
    EXPECT_EQ(newest.find(in_newest), head.find(word)) << newest;
    EXPECT_EQ(oldest.find(in_oldest), head.find(word)) << oldest;
  }
  EXPECT_EQ(Listed({"--json", "-l", "1"}).AsArray().size(), 1u);
  EXPECT_EQ(Listed({"--json", "-l", "1"}).AsArray()[0]["outcome"].AsString(), "done");
}

TEST_F(RunsTest, FileWithAMistakeIsRefused) {
  WriteFile(dir_ / "p.yaml", "pipe: 1\n");
  EXPECT_EQ(Runs().exit_code, 2);
}

}  // namespace
}  // namespace pipeline
