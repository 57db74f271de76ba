#include "cli/submission/workers_status.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/str.h"
#include "dag/books/run_log_line.h"
#include "dag/package/work_results.h"
#include "storage/forwarding_store.h"
#include "storage/memory_store.h"

namespace pipeline {
namespace {

using std::chrono::seconds;

constexpr std::int64_t kNow = 1'769'860'800'000;

/// Counts what is read.
class CountingStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<std::unique_ptr<ByteFile>> Open(std::string_view name) override {
    ++reads;
    return ForwardingStore::Open(name);
  }
  Result<std::unique_ptr<ByteFile>> OpenKnown(const ObjectInfo& known) override {
    ++reads;
    return ForwardingStore::OpenKnown(known);
  }
  std::size_t reads = 0;
};

/// A run of ten units of `text`: six are done at two hosts, two run, one of them for long.
struct Watched {
  Watched() {
    WorkPackage plan;
    for (int unit = 0; unit < 10; ++unit) plan.units.push_back({Unit(unit), DigestOf("recipe")});
    plan.log = "log/1";
    plan.run = "1-2";
    plan.pace = {{"text", seconds(40)}};
    Write(std::string(kWorkPackageName), EncodeWorkPackage(plan));
    for (int unit = 0; unit < 6; ++unit) {
      UnitRecord record = RecordOf({}, "[]");
      record.line.unit = Unit(unit);
      record.line.recipe = DigestOf("recipe");
      record.line.objects = {{"a", 1 << 20, 0, {}}};
      record.who = unit % 2 == 0 ? "vm-1, process 7" : "vm-2, process 8";
      record.began = kNow - 600'000 + unit / 2 * 30'000;
      record.took = seconds(30);
      Write(StrCat("done/", record.line.unit, ".json"), EncodeUnitRecord(record));
    }
    Lease(6, "vm-1, process 7", 20);
    Lease(7, "vm-2, process 8", 310);
  }

  static std::string Unit(int unit) { return StrCat("text/0000-0000", unit); }
  void Write(const std::string& object, const std::string& text) {
    ASSERT_TRUE(WriteObject(memory, object, text, Condition::ReplaceAny()).ok());
  }
  void Lease(int unit, const std::string& who, int seconds_ago) {
    Json json;
    json["who"] = who;
    json["began"] = kNow - 1000 * seconds_ago;
    Write(ObjectOfLease(Unit(unit)), json.Dump());
  }
  WorkersStatus Look(WorkersWatch& watch) {
    Result<PackageView> view = LookAt(memory, nullptr, SystemClock(), {});
    EXPECT_TRUE(view.ok());
    return watch.Look(std::move(*view), kNow, 200, {});
  }

  MemoryStore memory;
  CountingStore store{memory};
};

TEST(WorkersStatusTest, AStragglerIsNamedAndHostsHaveARate) {
  Watched run;
  WorkersWatch watch(run.store, "/p");
  const WorkersStatus status = run.Look(watch);
  EXPECT_EQ(
      ToText(status),
      "workers: 2 at work, 6 results since the last plan, 2 units wait, in /p\n"
      "  text/0000-00006: vm-1, process 7, for 20.0 s\n"
      "  text/0000-00007: vm-2, process 8, for 5 m 10 s; slow: 95 % of its stage took less than 40.0 s\n"
      "  stage text: 6 units done, 4 left, 4.0 per minute, about 1 m 00 s left\n"
      "  host vm-1: 1 worker, 3 units, 2.0 per minute, 1 m 30 s in units, 3.00 MiB written\n"
      "  host vm-2: 1 worker, 3 units, 2.0 per minute, 1 m 30 s in units, 3.00 MiB written\n"
      "  workers spent 100 % of their time in units");
  EXPECT_EQ(
      LogLine(status, "slurm: 2 running"),
      "10 units offered, 6 of them done, 2 running, 4.0 per minute (vm-1: 1, vm-2: 1), slow: text/0000-00007 "
      "(vm-2, process 8); slurm: 2 running");
  EXPECT_EQ(
      LiveLines(status, "slurm: 2 running"),
      (std::vector<std::string>{
          "slurm: 2 running", "10 units offered, 6 of them done, 2 running, 4.0 per minute",
          "[text] 60% 6 of 10 units, 4.0 per minute, about 1 m 00 s left",
          "vm-1: 1 at work, 3 units done, 2.0 per minute", "vm-2: 1 at work, 3 units done, 2.0 per minute",
          "text/0000-00007: vm-2, process 8, for 5 m 10 s; slow: 95 % of its stage took less than 40.0 s"}));
  const Json json = ToJson(status);
  EXPECT_EQ(json["hosts"].AsArray().size(), 2u);
  EXPECT_EQ(json["hosts"].AsArray().front()["units"].AsInt(), 3);
  EXPECT_EQ(json["stages"]["text"]["left"].AsInt(), 4);
  EXPECT_TRUE(json["units"].AsArray().back()["slow"].AsBool());
}

TEST(WorkersStatusTest, EachObjectIsReadOnceAndPlanningChangesNothing) {
  Watched run;
  WorkersWatch watch(run.store, "/p");
  run.Look(watch);
  EXPECT_EQ(run.store.reads, 8u) << "six results, two leases";
  run.Look(watch);
  EXPECT_EQ(run.store.reads, 8u);
  // The results go into the history, and are removed.
  std::vector<std::string> unreadable;
  const std::vector<ObjectInfo> records = run.memory.List("done/").value();
  const auto finished = ReadFinished(run.memory, {records[0], records[1]}, {});
  ASSERT_TRUE(finished.ok());
  ASSERT_TRUE(WriteHistory(run.memory, "1-2", *finished).ok());
  ASSERT_TRUE(run.memory.Remove("done/text/0000-00000.json").ok());
  const WorkersStatus status = run.Look(watch);
  EXPECT_EQ(run.store.reads, 9u);
  EXPECT_EQ(status.work.turns.size(), 6u);
  // Another run begins anew.
  WorkPackage plan = *status.view.package;
  plan.run = "3-4";
  plan.units.clear();
  run.Write(std::string(kWorkPackageName), EncodeWorkPackage(plan));
  for (int unit = 0; unit < 6; ++unit) {
    ASSERT_TRUE(run.memory.Remove(StrCat("done/", Watched::Unit(unit), ".json")).ok());
  }
  EXPECT_TRUE(run.Look(watch).work.turns.empty());
}

TEST(WorkersStatusTest, AfterTheEndTheHostsAreStillTold) {
  Watched run;
  run.Write("end.json", EncodeVersioned(RunEnd{}));
  ASSERT_TRUE(WriteHistory(run.memory, "1-2", {{}, {{"-", "vm-3, process 9", "vm-1, process 7", 1}}}).ok());
  WorkersWatch watch(run.store, "/p");
  const std::string text = ToText(run.Look(watch));
  EXPECT_TRUE(text.starts_with("workers: the run has ended, in /p\n  host vm-1: ")) << text;
  EXPECT_NE(text.find("\n  host vm-3: 0 workers, 0 units, 0 ms in units, 0 B written, 1 lost\n"),
            std::string::npos)
      << text;
}

TEST(WorkersStatusTest, ANameOfAHostStaysOnItsLine) {
  Watched run;
  run.Lease(6, StrCat("evil\neverything is done\x1b[2J", std::string(500, 'x')), 20);
  WorkersWatch watch(run.store, "/p");
  const WorkersStatus status = run.Look(watch);
  for (const std::string& text : {ToText(status), LogLine(status, ""), LiveLines(status, "").at(5)}) {
    EXPECT_EQ(text.find("\neverything"), std::string::npos) << text;
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_EQ(text.find(std::string(100, 'x')), std::string::npos);
  }
}

}  // namespace
}  // namespace pipeline
