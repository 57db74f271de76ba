#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "dag/books/work_dir.h"
#include "tests/support/fake_clock.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

/// Takes the lock in a child process; dead when the scope ends, at the latest.
class OtherProcess {
 public:
  explicit OtherProcess(const std::string& work_dir) {
    int ready[2] = {-1, -1};
    EXPECT_EQ(pipe(ready), 0);
    pid_ = fork();
    if (pid_ == 0) {
      const auto lock = WorkLock::Take(work_dir, FakeClock());
      const char answer = lock.ok() ? 'y' : 'n';
      if (write(ready[1], &answer, 1) != 1) _exit(1);
      for (;;) pause();
    }
    char answer = 0;
    EXPECT_EQ(read(ready[0], &answer, 1), 1);
    EXPECT_EQ(answer, 'y');
    close(ready[0]), close(ready[1]);
  }
  ~OtherProcess() { Kill(); }
  void Kill() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
};

class LockTest : public testing::Test {
 protected:
  LockTest()
      : before_(SetLogSink([this](Level, std::string_view message) { log_ += StrCat(message, '\n'); })) {}
  ~LockTest() override { SetLogSink(before_); }

  TempDir dir_;
  std::string work_ = dir_.path().string();
  std::string log_;
  LogSink before_;
};

TEST_F(LockTest, ALivingOwnerIsNamed) {
  OtherProcess other(work_);
  const auto lock = WorkLock::Take(work_, FakeClock());
  EXPECT_EQ(lock.status().code(), Code::kFailedPrecondition);
  EXPECT_EQ(lock.status().message(),
            StrCat("another run (pid ", other.pid(), ", since 1970-01-01T00:00:00Z) works in ", work_,
                   "; wait for it or use another --work"));
}

TEST_F(LockTest, ADeadOwnerIsTakenOverWithOneLine) {
  OtherProcess other(work_);
  const pid_t pid = other.pid();
  other.Kill();
  const auto lock = WorkLock::Take(work_, FakeClock());
  ASSERT_TRUE(lock.ok()) << lock.status().message();
  EXPECT_EQ(log_,
            StrCat(work_, ": the last run (pid ", pid,
                   ", since 1970-01-01T00:00:00Z) was killed; this run continues from its finished work\n"));
}

TEST_F(LockTest, AnOwnerOfAnEarlierBootEndedWithItsMachine) {
  WriteFile(dir_ / "lock", "pid=1 boot=other since=2026-01-31T12:00:00Z state=running\n");
  ASSERT_TRUE(WorkLock::Take(work_, FakeClock()).ok());
  EXPECT_NE(log_.find("ended with its machine"), std::string::npos);
}

TEST_F(LockTest, AnOwnerThatEndedInOrderIsNotMentioned) {
  { ASSERT_TRUE(WorkLock::Take(work_, FakeClock()).ok()); }
  EXPECT_NE(ReadFile(dir_ / "lock").find("state=ended\n"), std::string::npos);
  EXPECT_TRUE(WorkLock::Take(work_, FakeClock()).ok());
  EXPECT_EQ(log_, "");
}

TEST_F(LockTest, GarbageInTheFileIsNoObstacle) {
  WriteFile(dir_ / "lock", std::string(1000, '\xff'));
  const auto lock = WorkLock::Take(work_, FakeClock());
  ASSERT_TRUE(lock.ok());
  WriteFile(dir_ / "lock", "\x01\x02");
  EXPECT_EQ(WorkLock::Take(work_, FakeClock()).status().message(),
            StrCat("another run (its lock file does not say which) works in ", work_,
                   "; wait for it or use another --work"));
}

TEST_F(LockTest, AForkedChildDoesNotKeepItOnceItIsReleased) {
  auto lock = WorkLock::Take(work_, FakeClock());
  ASSERT_TRUE(lock.ok());
  const pid_t child = fork();
  if (child == 0)
    for (;;) pause();
  std::move(lock).value().reset();
  EXPECT_TRUE(WorkLock::Take(work_, FakeClock()).ok());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST_F(LockTest, AMissingDirectoryIsAnErrorWithItsName) {
  const auto lock = WorkLock::Take(dir_ / "none", FakeClock());
  EXPECT_EQ(lock.status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace pipeline
