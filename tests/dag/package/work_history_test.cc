#include "dag/package/work_history.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/str.h"
#include "dag/package/work_results.h"
#include "storage/memory_store.h"
#include "tests/support/built_tree.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

using Lines = std::vector<std::string>;
using Entry = WorkHistory::Entry;

constexpr std::string_view kRun = "1769860800000-4711";

WorkHistory ExampleHistory() {
  return {{{"text/0000-00003", "vm-2, process 4711", 1769860800000, 2500, 123456, 100}},
          {{"text/0000-00004", "vm-1, process 71", "vm-2, process 4711", 1769860790000}}};
}

UnitRecord Record(std::string unit, std::string who, std::int64_t began, int took_ms) {
  UnitRecord record = RecordOf({}, "[]");
  record.line.unit = std::move(unit);
  record.line.recipe = DigestOf("recipe");
  record.line.digest = DigestOf("bytes");
  record.line.records = 10;
  record.line.objects = {{"a.part", 1000, 0, {}}};
  record.who = std::move(who);
  record.began = began;
  record.took = std::chrono::milliseconds(took_ms);
  return record;
}

Result<std::vector<ObjectInfo>> ListHistory(Store& place) {
  return place.List(StrCat(kHistoryPrefix, kRun, "/"));
}

/// Returns the history of the run as a reader finds it.
WorkHistory Read(Store& place) {
  const auto names = ListHistory(place);
  EXPECT_TRUE(names.ok());
  Lines unreadable;
  const auto history = ReadHistory(place, *names, unreadable, {});
  EXPECT_TRUE(history.ok() && unreadable.empty());
  return *history;
}

TEST(WorkHistoryTest, IsWrittenAsTheDocumentSays) {
  const std::string page = ReadFile(std::filesystem::path(SourceDir()) / "dag" / "package" / "work_queue.md");
  EXPECT_NE(page.find("```json\n" + EncodeWorkHistory(ExampleHistory()) + "\n```"), std::string::npos);
  const Result<WorkHistory> back = ParseWorkHistory(EncodeWorkHistory(ExampleHistory()));
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(*back, ExampleHistory());
}

TEST(WorkHistoryTest, WhatIsWrongIsNamed) {
  Json json = *Json::Parse(EncodeWorkHistory(ExampleHistory()));
  json["lost"] = Json::Array{Json(Json::Object{{"unit", "a/-"}, {"who", "b"}})};
  EXPECT_EQ(ParseWorkHistory(json.Dump()).status().message(), "lost[0].by: missing");
  json["pipe_history"] = 2;
  EXPECT_EQ(ParseWorkHistory(json.Dump()).status().code(), Code::kFailedPrecondition);
  EXPECT_EQ(ParseWorkHistory("[]").status().code(), Code::kDataLoss);
}

TEST(WorkHistoryTest, ANameOrATimeBeyondReasonIsCutOnce) {
  std::string name = "a";
  while (name.size() < 1000) name += "あ";
  const WorkHistory history{{{"text/-", name, INT64_MAX, INT64_MAX, 0, 0}}, {}};
  const Result<WorkHistory> once = ParseWorkHistory(EncodeWorkHistory(history));
  ASSERT_TRUE(once.ok());
  EXPECT_EQ(once->results.front().who.size(), 199u) << "a whole character less than 200 bytes";
  EXPECT_EQ(*ParseWorkHistory(EncodeWorkHistory(*once)), *once);
  EXPECT_GE(Utilisation(Summarise(*once).hosts), 0);
}

TEST(WorkHistoryTest, APlannerThatIsKilledBetweenTheStepsLosesNothingAndCountsNothingTwice) {
  MemoryStore place;
  TempDir dir;
  ResultWriter writer(place, std::string(kRun));
  ASSERT_TRUE(writer.Write(Record("text/0000-00000", "a, process 1", 1000, 10)).ok());
  ASSERT_TRUE(writer.Write(Record("text/0000-00001", "a, process 1", 1020, 10)).ok());
  Lines unreadable;
  // It is killed with the history, before the log. The next one finds a further result.
  ASSERT_TRUE(WriteHistory(place, kRun, HistoryOf(*ReadWorkResults(place, "", unreadable))).ok());
  ASSERT_TRUE(writer.Write(Record("text/0000-00002", "b, process 1", 1000, 30)).ok());
  // This one is killed with the log, before it removes the results; the third one finds the same results
  // again.
  for (int planner = 0; planner < 2; ++planner) {
    const auto log = RunLog::Open(dir / "run.log");
    ASSERT_TRUE(log.ok());
    Result<std::vector<UnitRecord>> records = ReadWorkResults(place, "", unreadable);
    ASSERT_TRUE(records.ok());
    EXPECT_EQ(records->size(), 3u);
    ASSERT_TRUE(WriteHistory(place, kRun, HistoryOf(*records)).ok());
    const Result<TakenResults> taken = AddResults(std::move(*records), {}, **log);
    ASSERT_TRUE(taken.ok());
    if (planner == 1) {
      ASSERT_TRUE(RemoveResults(place, *taken).ok());
    }
  }
  EXPECT_EQ(ListHistory(place)->size(), 2u) << "one object for each planning that found something new";
  const WorkSummary summary = Summarise(Read(place));
  ASSERT_EQ(summary.hosts.size(), 2u);
  EXPECT_EQ(summary.turns.size(), 3u);
  EXPECT_EQ(summary.hosts[0].units, 2u);
  EXPECT_EQ(summary.hosts[0].bytes, 2000u);
  EXPECT_EQ(summary.hosts[0].twice + summary.hosts[1].twice, 0u);
}

TEST(WorkHistoryTest, AResultThatAnotherWorkerHasStoredIsOnlyInTheHistory) {
  MemoryStore place;
  ResultWriter writer(place, std::string(kRun));
  const UnitRecord first = Record("text/0000-00000", "a, process 1", 1000, 10);
  ASSERT_TRUE(writer.Write(first).ok());
  ASSERT_TRUE(writer.Write(first).ok()) << "the answer to the first request was lost";
  EXPECT_TRUE(ListHistory(place)->empty());
  ASSERT_TRUE(writer.Write(Record("text/0000-00001", "a, process 1", 1000, 20)).ok());
  ASSERT_TRUE(writer.Write(Record("text/0000-00000", "b, process 1", 1005, 10)).ok());
  ASSERT_TRUE(writer.Write(Record("text/0000-00001", "b, process 1", 1005, 20)).ok());
  EXPECT_TRUE(ListHistory(place)->empty());
  writer.EndUnit();
  writer.EndUnit();
  EXPECT_EQ(ListHistory(place)->size(), 1u) << "one object for a unit, whatever it stores";
  Lines unreadable;
  ASSERT_TRUE(WriteHistory(place, kRun, HistoryOf(*ReadWorkResults(place, "", unreadable))).ok());
  const WorkSummary summary = Summarise(Read(place));
  ASSERT_EQ(summary.hosts.size(), 2u);
  EXPECT_EQ(summary.hosts[0].twice, 0u);
  EXPECT_EQ(summary.hosts[1].twice, 1u) << "one unit, which was later";
}

TEST(WorkHistoryTest, AnotherRunBeginsAnewAndAnEarlierPlanHasNone) {
  MemoryStore place;
  ASSERT_TRUE(WriteHistory(place, "1-1", ExampleHistory()).ok());
  ASSERT_TRUE(WriteHistory(place, kRun, ExampleHistory()).ok());
  ASSERT_TRUE(WriteHistory(place, "", ExampleHistory()).ok());
  EXPECT_EQ(place.List(kHistoryPrefix)->size(), 2u);
  ASSERT_TRUE(RemoveOtherHistory(place, kRun).ok());
  EXPECT_EQ(place.List(kHistoryPrefix)->size(), 1u);
  EXPECT_EQ(Read(place), ExampleHistory());
}

TEST(WorkHistoryTest, AnUnreadableObjectIsNamedAndTheOthersCount) {
  MemoryStore place;
  ASSERT_TRUE(WriteHistory(place, kRun, ExampleHistory()).ok());
  const ObjectInfo damaged = *WriteObject(place, "history/1-1/a.json", "{", Condition::CreateOnly());
  const std::vector<ObjectInfo> objects = {ListHistory(place)->front(), damaged,
                                           ObjectInfo{"history/1-1/gone.json", 1, "1", {}}};
  Lines unreadable;
  const auto history = ReadHistory(place, objects, unreadable, {});
  ASSERT_TRUE(history.ok());
  EXPECT_EQ(*history, ExampleHistory());
  EXPECT_EQ(unreadable, Lines{damaged.name});
}

TEST(WorkSummaryTest, TheResultsOfOneUnitAreOneTurn) {
  const WorkSummary summary = Summarise({{{"docs/0000-00000", "a, process 1", 1000, 400, 10, 1},
                                          {"docs/0000-00001", "a, process 1", 1000, 900, 20, 2},
                                          {"docs/0000-*", "a, process 1", 1000, 901, 0, 0},
                                          {"old/0000-00000", "a, process 1", 0, 5, 0, 0},
                                          {"old/0000-00001", "a, process 1", 0, 5, 0, 0}},
                                         {}});
  ASSERT_EQ(summary.turns.size(), 3u) << "a result of an earlier program is a unit of its own";
  const auto turn = std::find_if(summary.turns.begin(), summary.turns.end(),
                                 [](const UnitTurn& one) { return one.unit == "docs/0000-*"; });
  ASSERT_NE(turn, summary.turns.end());
  EXPECT_EQ(turn->took_ms, 901);
  EXPECT_EQ(turn->bytes, 30u);
  EXPECT_EQ(turn->records, 3u);
  EXPECT_EQ(summary.hosts.front().inside_ms, 911);
  EXPECT_EQ(summary.hosts.front().span_ms, 901);
}

TEST(WorkSummaryTest, HostsWhoseClocksDifferAreSummedEachByItsOwn) {
  constexpr std::int64_t kApart = 3'600'000;  // the clock of b is an hour ahead
  WorkHistory history;
  // Two workers of a, one after the other at the second place; one of b, idle for half of its time.
  for (int unit = 0; unit < 6; ++unit) {
    history.results.push_back(
        {"text/0000-0000" + std::to_string(unit), "a, process 1", 60'000 + unit * 10'000, 10'000, 100, 1});
    history.results.push_back({"text/0001-0000" + std::to_string(unit),
                               unit < 3 ? "a, process 2" : "a, process 3", 60'000 + unit * 10'000, 10'000,
                               100, 1});
  }
  for (int unit = 0; unit < 3; ++unit)
    history.results.push_back({"text/0002-0000" + std::to_string(unit), "b, process 9",
                               60'000 + kApart + unit * 25'000, 10'000, 100, 1});
  history.lost = {{"text/0003-00000", "b, process 8", "a, process 1", 5},
                  {"-", "c, process 1", "a, process 2", 5}};
  history.lost.push_back(history.lost.front());
  const WorkSummary summary = Summarise(history);
  ASSERT_EQ(summary.hosts.size(), 3u);
  const HostWork &a = summary.hosts[0], &b = summary.hosts[1], &c = summary.hosts[2];
  EXPECT_EQ(a.workers, 3u);
  EXPECT_EQ(a.at_once, 2u);
  EXPECT_EQ(a.span_ms, 60'000);
  EXPECT_NEAR(a.per_minute, 12, 1e-9);
  EXPECT_NEAR(b.per_minute, 3, 1e-9);
  EXPECT_EQ(b.lost, 1u) << "the same fact twice";
  EXPECT_EQ(c.host, "c");
  EXPECT_EQ(c.lost, 1u);
  // 150 s in units, of three workers in 60 s each.
  EXPECT_NEAR(Utilisation(summary.hosts), 150.0 / 180, 1e-9);
  EXPECT_EQ(Utilisation({}), 0);
}

TEST(WorkSummaryTest, ARateIsThatOfTheLastTenMinutes) {
  WorkHistory history;
  for (int unit = 0; unit < 20; ++unit)  // one in ten minutes, then one in six seconds
    history.results.push_back({"a/0000-" + std::to_string(unit), "a, process 1",
                               unit < 10 ? 1 + unit * 600'000 : 6'000'000 + unit * 6'000, 6'000, 0, 0});
  const WorkSummary summary = Summarise(history);
  EXPECT_NEAR(summary.hosts.front().per_minute, 10, 0.01);
  EXPECT_NEAR(summary.hosts.front().stage_per_minute.at("a"), 10, 0.01);
}

}  // namespace
}  // namespace pipeline
