// Inputs whose partitions are committed together: the order of objects and lines, and what a failure leaves.
#include "dag/run/input_group.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/commit_point.h"
#include "base/str.h"
#include "dag/books/log_file.h"
#include "storage/local_store.h"
#include "storage/memory_store.h"
#include "tests/support/fault_store.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

class InputGroupTest : public testing::Test {
 protected:
  InputGroupTest() {
    LogIo io = SystemLogIo();
    io.sync = [this](int) { return ++syncs_, disk_fails_ ? (errno = EIO, -1) : 0; };
    Result<std::unique_ptr<RunLog>> log = RunLog::Open(dir_ / "run.log", io);
    EXPECT_TRUE(log.ok());
    log_ = std::move(log).value();
    syncs_ = 0;
  }

  /// Holds input `number` with one partition, whose object has its name.
  void Read(InputGroup& group, int number) {
    const std::string unit = StrCat("text/", number);
    const std::size_t first = group.objects();
    EXPECT_TRUE(WriteObject(group.directory(), StrCat("o", number), "bytes", Condition::ReplaceAny()).ok());
    UnitLine line;
    line.unit = unit;
    EXPECT_TRUE(group
                    .Hold({line, first, [this, unit] { events_.push_back(unit + " logged"); },
                           [this, unit](const Status& why) {
                             events_.push_back(StrCat(unit, " failed: ", why.message()));
                             return stops_ ? Status(Code::kCancelled, "stopped") : Status();
                           }})
                    .ok());
    line.unit = unit + "-*";
    line.state = UnitState::kEnd;
    group.End(line, [this, unit](const Status& why) {
      events_.push_back(StrCat(unit, " settled: ", why.ok() ? "ok" : why.message()));
    });
  }
  std::vector<std::string> Lines() const {
    std::vector<std::string> units;
    for (const UnitLine* line : log_->List("text/")) units.push_back(line->unit);
    return units;
  }

  using Strings = std::vector<std::string>;
  TempDir dir_;
  int syncs_ = 0;
  bool disk_fails_ = false;
  bool stops_ = false;
  std::unique_ptr<RunLog> log_;
  Strings events_;
};

TEST_F(InputGroupTest, ManyInputsCostTwoSyncsOfTheLog) {
  LocalStore store(dir_ / "outputs");
  InputGroup group(*log_, store, store, 100);
  for (int number = 0; number < 50; ++number) Read(group, number);
  EXPECT_EQ(events_, Strings());
  EXPECT_EQ(store.List("")->size(), 0u);
  EXPECT_EQ(Lines(), Strings());
  ASSERT_TRUE(group.Flush().ok());
  EXPECT_EQ(store.List("")->size(), 50u);
  EXPECT_EQ(Lines().size(), 100u);
  EXPECT_EQ(syncs_, 2);  // of the partitions, and of the ends
  EXPECT_EQ(events_.front(), "text/0 logged");
  EXPECT_EQ(events_.back(), "text/49 settled: ok");
}

TEST_F(InputGroupTest, AFullGroupFlushesItself) {
  MemoryStore store;
  InputGroup group(*log_, store, store, 3);
  for (int number = 0; number < 3; ++number) Read(group, number);
  EXPECT_EQ(store.List("")->size(), 3u);
  // The third input was still being read, so it has no end line yet.
  EXPECT_EQ(Lines(), (Strings{"text/0", "text/0-*", "text/1", "text/1-*", "text/2"}));
  ASSERT_TRUE(group.Flush().ok());
  EXPECT_EQ(Lines().size(), 6u);
}

TEST_F(InputGroupTest, AllObjectsAreDurableBeforeTheFirstLineAndVisibleAfterAllAreSynced) {
  LocalStore store(dir_ / "outputs");
  InputGroup group(*log_, store, store, 100);
  Strings points;
  const CommitPointHook before = SetCommitPointHook([&](std::string_view point) {
    points.push_back(StrCat(point, " ", store.List("")->size(), " ", Lines().size()));
  });
  for (int number = 0; number < 2; ++number) Read(group, number);
  EXPECT_TRUE(group.Flush().ok());
  SetCommitPointHook(before);
  EXPECT_EQ(points, (Strings{"object.written 0 0", "object.written 0 0", "object.synced 0 0",
                             "object.synced 0 0", "object.visible 2 0", "object.visible 2 0",
                             "partition.committed 2 0", "partition.committed 2 0", "partition.logged 2 2",
                             "partition.logged 2 2", "input.ended 2 2", "input.ended 2 2"}));
}

TEST_F(InputGroupTest, AFailedObjectFailsItsPartitionAlone) {
  MemoryStore inner;
  FaultStore store(inner);
  InputGroup group(*log_, store, store, 100);
  for (int number = 0; number < 3; ++number) Read(group, number);
  store.FailNth(FaultStore::Call::kCommit, 2, Status(Code::kResourceExhausted, "full"));
  ASSERT_TRUE(group.Flush().ok());
  // The end of an input is a fact about the input, also if a partition failed.
  EXPECT_EQ(Lines(), (Strings{"text/0", "text/0-*", "text/1-*", "text/2", "text/2-*"}));
  EXPECT_EQ(events_, (Strings{"text/0 logged", "text/1 failed: full", "text/2 logged", "text/0 settled: ok",
                              "text/1 settled: ok", "text/2 settled: ok"}));
}

TEST_F(InputGroupTest, AnInputThatAFailureStopsHasNoEnd) {
  MemoryStore inner;
  FaultStore store(inner);
  InputGroup group(*log_, store, store, 100);
  for (int number = 0; number < 2; ++number) Read(group, number);
  store.FailNth(FaultStore::Call::kCommit, 1, Status(Code::kResourceExhausted, "full"));
  stops_ = true;
  ASSERT_TRUE(group.Flush().ok());
  EXPECT_EQ(Lines(), (Strings{"text/1", "text/1-*"}));
  EXPECT_EQ(events_[2], "text/0 settled: stopped");
}

TEST_F(InputGroupTest, AFailureOfTheLogIsToldOnceAndEndsNoInput) {
  MemoryStore store;
  InputGroup group(*log_, store, store, 100);
  for (int number = 0; number < 3; ++number) Read(group, number);
  disk_fails_ = true;
  EXPECT_TRUE(group.Flush().ok());  // no input is being read
  EXPECT_EQ(Lines(), Strings());
  ASSERT_EQ(events_.size(), 3u);
  EXPECT_NE(events_[0].find("run.log"), std::string::npos) << events_[0];
  EXPECT_EQ(events_[1], "text/1 settled: stopped after a failure");
  EXPECT_EQ(events_[2], "text/2 settled: stopped after a failure");
}

}  // namespace
}  // namespace pipeline
