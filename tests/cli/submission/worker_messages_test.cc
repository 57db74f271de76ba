#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/submission/submission_run.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

using Lines = std::vector<std::string>;

TEST(WorkerMessagesTest, TheLastErrorOfEachFileIsTold) {
  TempDir dir;
  WriteFile(dir / "1_0.log", "error: of an earlier job\n");
  const WorkerMessages messages(dir.path().string());
  EXPECT_EQ(messages.LastErrors(3), Lines{});
  WriteFile(dir / "1_0.log",
            "error: of an earlier job\nerror: first\nerror: the disk is full\nthis worker did 3 units\n");
  WriteFile(dir / "1_1.log", "error: the disk is full\n");
  WriteFile(dir / "1_2.log", "warning: slow\nerror: no right");  // it was killed inside a line
  WriteFile(dir / "workers.sh", "error: no message\n");
  EXPECT_EQ(messages.LastErrors(3), (Lines{"the disk is full", "no right"}));
  EXPECT_EQ(messages.LastErrors(1), Lines{"the disk is full"});
}

TEST(WorkerMessagesTest, TheLastLineIsToldWhereNoWorkerTellsAnError) {
  TempDir dir;
  const WorkerMessages messages(dir.path().string());
  WriteFile(dir / "workers.log",
            std::string(100'000, 'x') + "\nworkers.sh: line 5: /no/pipe: No such file\n\n");
  EXPECT_EQ(messages.LastErrors(3), Lines{"workers.sh: line 5: /no/pipe: No such file"});
}

TEST(WorkerMessagesTest, ALineOfRayIsTheMessageOfItsWorker) {
  TempDir dir;
  const WorkerMessages messages(dir.path().string());
  WriteFile(dir / "ray_1.log",
            "\x1b[36m(worker 0 pid=812, ip=10.0.0.2)\x1b[0m error: in.jsonl:7: no JSON (unit docs/0000-*)\n"
            "\x1b[33m(raylet) Warning: the node is slow\x1b[0m\n"
            "ray_workers.py: worker 0: ended with 75 (try again) on a, and was started again 3 times\n");
  EXPECT_EQ(messages.LastErrors(3), Lines{"in.jsonl:7: no JSON (unit docs/0000-*)"});
}

TEST(WorkerMessagesTest, AWarningIsNotToldInPlaceOfTheReason) {
  TempDir dir;
  const WorkerMessages messages(dir.path().string());
  WriteFile(dir / "ray_1.log",
            "ray_workers.py: worker 0: ended by signal 9 on a\n"
            "\x1b[36m(worker 0 pid=812)\x1b[0m warning: mine.yaml:3:9: nothing uses the variable 'rate'\n"
            "/usr/lib/ray.py:12: \x1b[1mFutureWarning: it ends\x1b[m\n");
  EXPECT_EQ(messages.LastErrors(3), Lines{"ray_workers.py: worker 0: ended by signal 9 on a"});
  WriteFile(dir / "ray_1.log", "warning: alone\n");
  EXPECT_EQ(messages.LastErrors(3), Lines{"warning: alone"});
}

TEST(WorkerMessagesTest, WithoutADirectoryThereIsNone) {
  EXPECT_EQ(WorkerMessages("/nonexistent/submit").LastErrors(3), Lines{});
}

}  // namespace
}  // namespace pipeline
