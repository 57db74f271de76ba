#include "dag/home/home_log.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "base/str.h"
#include "base/wait.h"
#include "base/whole_file.h"
#include "dag/books/log_file.h"
#include "dag/location/lease.h"
#include "storage/memory_store.h"
#include "tests/support/fault_store.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

using namespace std::chrono_literals;

UnitLine Done(int number) {
  UnitLine line;
  line.unit = StrCat("text/0000-", ZeroPadded(static_cast<std::uint64_t>(number), 5));
  line.segment = 1;
  line.recipe = DigestOf(line.unit);
  line.records = 3;
  return line;
}

std::vector<std::string> Segments(Store& home) {
  std::vector<std::string> names;
  for (const ObjectInfo& object : home.List(kHomeLogPrefix).value()) names.push_back(object.name);
  return names;
}

UnitLine Void(int number) {
  UnitLine line;
  line.state = UnitState::kVoid;
  line.unit = Done(number).unit;
  line.reason = "damaged";
  return line;
}

class HomeLogTest : public testing::Test {
 protected:
  /// Begins a run: with the log of the home, on a machine without one.
  void Begin() {
    End();
    const Result<HomeLogText> found = ReadHomeLog(home_);
    ASSERT_TRUE(found.ok()) << found.status().message();
    const std::string path = dir_ / "run.log";
    const std::string empty = "# pipe run log v1\n";
    ASSERT_TRUE(ReplaceFile(path, found->text.empty() ? empty : found->text, SystemLogIo()).ok());
    log_ = RunLog::Open(path).value();
    HomeLog::Terms terms = terms_;
    terms.confirm = [this](std::stop_token) { return confirmed_; };
    terms.whole = [path] { return ReadWholeFile(path); };
    terms.failed = [this](const Status& why) { failed_ = why, ++failures_; };
    mirror_.emplace(home_, found->next, found->segments, std::move(terms));
    log_->SetMirror(&*mirror_);
  }
  void End() {
    log_.reset();
    mirror_.reset();
  }
  /// Number of units that the log in the home has.
  std::size_t DoneAtHome() {
    const Result<HomeLogText> found = ReadHomeLog(memory_);
    EXPECT_TRUE(found.ok()) << found.status().message();
    return found.ok() ? RunLog::OpenText("home", found->text).value()->List("").size() : 0;
  }
  /// The writer thread decides when; this waits for the outcome.
  template <class Condition>
  bool Comes(Condition condition) {
    for (int turn = 0; turn < 10'000 && !condition(); ++turn) WaitFor(1ms, {});
    return condition();
  }

  TempDir dir_;
  MemoryStore memory_;
  FaultStore home_{memory_};
  HomeLog::Terms terms_{.confirm = {}, .whole = {}, .failed = {}, .most_waiting = 1h};
  Status confirmed_, failed_;
  std::atomic<int> failures_ = 0;
  std::unique_ptr<RunLog> log_;
  std::optional<HomeLog> mirror_;
};

TEST_F(HomeLogTest, LinesReachTheHomeWithoutFurtherLines) {
  terms_.most_waiting = 20ms;
  Begin();
  ASSERT_TRUE(log_->Append(Done(1)).ok());
  EXPECT_TRUE(Comes([&] { return !Segments(memory_).empty(); }));
  EXPECT_EQ(Segments(memory_), std::vector<std::string>{"log/00000001"});
  EXPECT_EQ(DoneAtHome(), 1u);
}

TEST_F(HomeLogTest, AFlushWritesWhatWaits) {
  Begin();
  ASSERT_TRUE(log_->Append(Done(1)).ok());
  ASSERT_TRUE(log_->Append({Done(2), Done(3)}).ok());
  EXPECT_TRUE(Segments(memory_).empty());
  ASSERT_TRUE(log_->Flush().ok());
  ASSERT_TRUE(log_->Flush().ok()) << "nothing waits";
  EXPECT_EQ(Segments(memory_).size(), 1u);
  EXPECT_EQ(ReadHomeLog(memory_)->text, ReadFile(dir_.path() / "run.log")) << "the home has another log";
  ASSERT_TRUE(log_->Append(Done(4)).ok());
  End();
  EXPECT_EQ(DoneAtHome(), 4u) << "the end of a run writes what is left";
}

TEST_F(HomeLogTest, ALineThatTakesSomethingBackDoesNotWait) {
  Begin();
  ASSERT_TRUE(log_->Append(Done(1)).ok());
  ASSERT_TRUE(log_->Append(Void(1)).ok());
  EXPECT_TRUE(Comes([&] { return !Segments(memory_).empty(); }));
  EXPECT_EQ(DoneAtHome(), 0u);
}

TEST_F(HomeLogTest, APowerCutAtAnyCommitLosesNothingThatWasFlushed) {
  terms_.most_segments = 2;
  std::size_t flushed = 0;
  for (int cut = 1; cut <= 8; ++cut) {
    Begin();
    home_.CutPowerAt(FaultStore::Call::kCommit, cut);
    int number = static_cast<int>(flushed);
    while (number < 100) {
      if (!log_->Append(Done(++number)).ok() || !log_->Flush().ok()) break;
      flushed = static_cast<std::size_t>(number);
      if (number % 3 == 0 && !mirror_->WriteWhole({}).ok()) break;
    }
    EXPECT_LT(number, 100);
    End();
    home_.RestorePower();
    failed_ = Status();
    EXPECT_GE(DoneAtHome(), flushed) << "cut " << cut;
  }
  EXPECT_GT(flushed, 8u);
}

TEST_F(HomeLogTest, LostAnswersAndRemovalsLeaveAWholeLog) {
  terms_.most_segments = 2;
  Begin();
  for (int number = 1; number <= 12; ++number) {
    ASSERT_TRUE(log_->Append(Done(number)).ok());
    if (number % 4 == 0) home_.LoseAnswerOfCommit(1);
    if (number % 5 == 0) home_.FailNth(FaultStore::Call::kRemove, 1, Status(Code::kUnavailable, "no answer"));
    // The line whose answer was lost is kept, and goes with the next segment.
    (void)log_->Flush();
    if (!failed_.ok()) {
      failed_ = Status();
      Begin();
    }
    if (number % 3 == 0) {
      ASSERT_TRUE(mirror_->WriteWhole({}).ok());
    }
  }
  End();
  EXPECT_EQ(DoneAtHome(), 12u);
}

TEST_F(HomeLogTest, MissingAndDamagedSegmentsCostTheirLinesAlone) {
  Begin();
  for (int number = 1; number <= 5; ++number) {
    ASSERT_TRUE(log_->Append(Done(number)).ok());
    ASSERT_TRUE(log_->Flush().ok());
  }
  End();
  ASSERT_TRUE(memory_.Remove("log/00000002").ok());
  std::string torn = ReadObject(memory_, "log/00000004", 1 << 20).value();
  torn.resize(torn.size() - 9);
  ASSERT_TRUE(WriteObject(memory_, "log/00000004", torn, Condition::ReplaceAny()).ok());
  EXPECT_EQ(DoneAtHome(), 3u);
  ASSERT_TRUE(WriteObject(memory_, "log/00000003", "nonsense", Condition::ReplaceAny()).ok());
  EXPECT_EQ(DoneAtHome(), 2u);
  Begin();
  ASSERT_TRUE(log_->Append(Done(9)).ok());
  End();
  EXPECT_EQ(Segments(memory_).back(), "log/00000006");
  EXPECT_EQ(DoneAtHome(), 3u);
}

TEST_F(HomeLogTest, ALostLeaseEndsTheRun) {
  Begin();
  ASSERT_TRUE(WriteObject(memory_, "log/00000001", "# pipe run log v1\n", {}).ok());
  confirmed_ = LeaseIsLost("gs://b/run", "another run has taken it over");
  ASSERT_TRUE(log_->Append(Done(1)).ok());
  EXPECT_NE(log_->Flush().Detail<LostLease>(), nullptr);
  EXPECT_NE(failed_.Detail<LostLease>(), nullptr);
  EXPECT_NE(log_->Append(Done(2)).Detail<LostLease>(), nullptr) << "the run goes on without its home";
  End();
  EXPECT_EQ(failures_, 1);
  EXPECT_EQ(Segments(memory_).size(), 1u);
}

TEST_F(HomeLogTest, ALateSegmentOfADeadRunIsPassedOver) {
  Begin();
  RunLine run;
  run.id = "dead";
  ASSERT_TRUE(WriteObject(memory_, "log/00000001", "# pipe run log v1\n", {}).ok());
  ASSERT_TRUE(WriteObject(memory_, "log/00000002", "# pipe run log v1\n", {}).ok());
  ASSERT_TRUE(log_->Append(Done(1)).ok());
  ASSERT_TRUE(log_->Flush().ok());
  EXPECT_EQ(Segments(memory_).back(), "log/00000003");
  EXPECT_EQ(DoneAtHome(), 1u);
}

TEST_F(HomeLogTest, ManySegmentsBecomeOne) {
  terms_.most_segments = 4;
  Begin();
  for (int number = 1; number <= 6; ++number) {
    ASSERT_TRUE(log_->Append(Done(number)).ok());
    ASSERT_TRUE(log_->Flush().ok());
  }
  ASSERT_TRUE(log_->Append(Done(7)).ok());
  ASSERT_TRUE(log_->Append(Void(1)).ok());  // the thread writes both at once, and then the whole log
  EXPECT_TRUE(Comes([&] {
    const std::vector<std::string> names = Segments(memory_);
    return names.size() == 1 && names.front().ends_with("-all");
  }));
  EXPECT_EQ(DoneAtHome(), 6u);
  ASSERT_TRUE(log_->Append(Done(8)).ok());
  End();
  EXPECT_EQ(DoneAtHome(), 7u);
  EXPECT_EQ(ReadHomeLog(memory_)->segments, 2u);
}

TEST_F(HomeLogTest, ALogOfANewerVersionIsRefused) {
  Begin();
  ASSERT_TRUE(log_->Append(Done(1)).ok());
  End();
  ASSERT_TRUE(WriteObject(memory_, "log/00000002", "# pipe run log v2\nfuture\n", {}).ok());
  const Result<HomeLogText> found = ReadHomeLog(memory_);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(RunLog::OpenText("home", found->text).status().code(), Code::kFailedPrecondition);
}

TEST_F(HomeLogTest, NoSegmentHasANumberThatNobodyReads) {
  ASSERT_TRUE(WriteObject(memory_, "log/99999999", "# pipe run log v1\n", {}).ok());
  Begin();
  ASSERT_TRUE(log_->Append(Done(1)).ok());
  EXPECT_TRUE(log_->Flush().message().starts_with("log/99999999: ")) << log_->Flush().message();
  EXPECT_EQ(Segments(memory_).size(), 1u);
  EXPECT_EQ(failures_, 1);
}

TEST_F(HomeLogTest, OtherObjectsAreNoSegments) {
  for (const std::string name : {"log/7", "log/00000001.txt", "log/0000000a", "log/00000001-al", "log/x-all"})
    ASSERT_TRUE(WriteObject(memory_, name, "nonsense", {}).ok());
  const Result<HomeLogText> found = ReadHomeLog(memory_);
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found->text.empty());
  EXPECT_EQ(found->next, 1u);
}

}  // namespace
}  // namespace pipeline
