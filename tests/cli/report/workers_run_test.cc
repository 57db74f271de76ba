#include "cli/report/workers_run.h"

#include <gtest/gtest.h>

#include "base/str.h"
#include "cli/report/report_page.h"
#include "cli/report/run_record.h"

namespace pipeline {
namespace {

constexpr std::int64_t kStarted = 1'769'860'800'000;

RunRecord Begun() {
  RunRecord record;
  record.begin.started = kStarted;
  for (const char* const name : {"docs", "text"}) {
    RecordedStage stage;
    stage.name = stage.segment = name;
    stage.type = "split";
    stage.state = "run";
    record.stages.push_back(stage);
  }
  return record;
}

WorkersRun Ended() {
  return {"1-2",
          {{{"docs/0000-00000", "vm-1, process 7", kStarted + 1000, 500, 1 << 20, 10},
            {"docs/0000-*", "vm-1, process 7", kStarted + 1000, 1000, 0, 0},
            {"docs/0001-*", "<b>vm-2</b>, process 8", kStarted + 500, 3000, 0, 0}},
           {{"docs/0001-*", "vm-3, process 9", "<b>vm-2</b>, process 8", kStarted}}},
          RunEnd{}};
}

TEST(WorkersRunTest, ARecordGetsTheUnitsOfTheWorkersWithTheirHosts) {
  RunRecord record = Begun();
  AddWorkers(Ended(), record);
  ASSERT_EQ(record.units.size(), 2u);
  EXPECT_EQ(record.units[0].unit, "docs/0000-*") << "it ended first";
  EXPECT_EQ(record.units[0].host, "vm-1");
  EXPECT_EQ(record.units[0].begin, 1.0);
  EXPECT_EQ(record.units[0].end, 2.0);
  EXPECT_EQ(record.units[0].records, 10u);
  EXPECT_EQ(record.reached.at("docs"), 0.5);
  ASSERT_TRUE(record.end);
  EXPECT_EQ(record.end->at, 3.5);
  EXPECT_EQ(StateOf(record, record.stages[0]), "done");
  EXPECT_EQ(StateOf(record, record.stages[1]), "done") << "planning did it, without a unit";

  const std::string page = ReportPage(record);
  EXPECT_NE(page.find("<h2>Hosts</h2>"), std::string::npos);
  EXPECT_NE(page.find("&lt;b&gt;vm-2&lt;/b&gt;"), std::string::npos);
  EXPECT_EQ(page.find("<b>vm-2</b>"), std::string::npos);
  EXPECT_NE(
      page.find(
          "<b>vm-3</b></th><td></td><td></td><td>0 ms</td><td>0 %</td><td></td><td></td><td></td><td>1</td>"),
      std::string::npos);
  EXPECT_NE(
      page.find("<b>All hosts</b></th><td>2</td><td>2</td><td>4.00 s</td><td>100 %</td><td>1.00 MiB</td>"),
      std::string::npos);
  EXPECT_NE(page.find("<code>docs/0001-*</code> <span>at &lt;b&gt;vm-2&lt;/b&gt;</span>"), std::string::npos);
  EXPECT_EQ(page.find("Peak memory"), std::string::npos) << "nobody measured it";
}

TEST(WorkersRunTest, ARunThatGoesOnHasNoEndAndAFailedOneItsReasons) {
  WorkersRun run = Ended();
  run.end.reset();
  run.at_work = 1;
  RunRecord record = Begun();
  record.alive = true;
  AddWorkers(run, record);
  EXPECT_FALSE(record.end);
  EXPECT_EQ(StateOf(record, record.stages[0]), "running");
  EXPECT_EQ(StateOf(record, record.stages[1]), "not reached");

  run.end = RunEnd{{{"docs/0001-*", "line 7: not UTF-8"}}};
  record = Begun();
  AddWorkers(run, record);
  EXPECT_EQ(record.end->outcome, "failed");
  EXPECT_EQ(StateOf(record, record.stages[0]), "failed");
}

TEST(WorkersRunTest, ARunWithoutWorkersWaitsAndAReplacedOneIsCancelled) {
  WorkersRun run = Ended();
  run.end.reset();
  RunRecord record = Begun();
  AddWorkers(run, record);
  EXPECT_EQ(record.end->outcome, kWaiting);
  EXPECT_EQ(StateOf(record, record.stages[0]), "stopped");
  run.replaced = true;
  record = Begun();
  AddWorkers(run, record);
  EXPECT_EQ(record.end->outcome, "cancelled");
}

TEST(WorkersRunTest, AClockThatIsApartMakesNoUnitBeforeTheStartOrAfterTheLook) {
  const auto record_of = [](std::int64_t apart) {
    WorkersRun run = Ended();
    run.seen = kStarted + 5000;
    for (WorkHistory::Entry& entry : run.history.results)
      if (entry.who == "vm-1, process 7") entry.began += apart;
    RunRecord record = Begun();
    AddWorkers(run, record);
    return record;
  };
  for (const std::int64_t apart : {-420'000, 420'000}) {
    const RunRecord record = record_of(apart);
    ASSERT_EQ(record.units.size(), 2u);
    for (const RecordedUnit& unit : record.units) {
      EXPECT_GE(unit.begin, 0) << unit.unit;
      EXPECT_LE(unit.end, 5) << unit.unit;
      EXPECT_EQ(unit.end - unit.begin, unit.host == "vm-1" ? 1.0 : 3.0) << "times are moved, not cut";
    }
    EXPECT_LE(record.end->at, 5);
  }
  EXPECT_EQ(record_of(0).units[0].begin, 1.0);
}

TEST(WorkersRunTest, APageWithoutWorkersHasNoHosts) {
  RunRecord record = Begun();
  const std::string page = ReportPage(record);
  EXPECT_EQ(page.find("<h2>Hosts</h2>"), std::string::npos);
  EXPECT_NE(page.find("Peak memory"), std::string::npos);
}

}  // namespace
}  // namespace pipeline
