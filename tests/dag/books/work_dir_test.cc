#include "dag/books/work_dir.h"

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

TEST(WorkDirTest, NamesItsPlaces) {
  const WorkDir work(".pipe/tiny/");
  EXPECT_EQ(work.log(), ".pipe/tiny/run.log");
  EXPECT_EQ(work.lock(), ".pipe/tiny/lock");
  EXPECT_EQ(work.run("r1"), ".pipe/tiny/runs/r1");
  EXPECT_EQ(work.artifact("clean", *Digest::FromHex("0123456789abcdef0011223344556677")),
            ".pipe/tiny/artifacts/clean-0123456789abcdef");
}

TEST(WorkDirTest, CreatesWhatIsMissingAndLeavesTheRest) {
  const TempDir dir;
  const WorkDir work(dir / "a/b");
  ASSERT_TRUE(work.Create().ok());
  WriteFile(work.spool() + "/kept", "x");
  ASSERT_TRUE(work.Create().ok());
  EXPECT_EQ(ReadFile(work.spool() + "/kept"), "x");
  for (const char* place : {"artifacts", "quarantine", "runs"})
    EXPECT_TRUE(std::filesystem::is_directory(work.path() + "/" + place)) << place;
}

TEST(WorkDirTest, AFileInTheWayIsAnErrorWithItsName) {
  const TempDir dir;
  WriteFile(dir / "work", "");
  const Status made = WorkDir(dir / "work").Create();
  EXPECT_FALSE(made.ok());
  EXPECT_NE(made.message().find(dir / "work"), std::string_view::npos) << made.message();
}

}  // namespace
}  // namespace pipeline
