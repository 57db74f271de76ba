#include "plugins/train/external/program_checkpoints.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/str.h"
#include "plugins/train/checkpoint_marker.h"
#include "storage/local_store.h"
#include "tests/plugins/train/storage_call.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class ProgramCheckpointsTest : public testing::Test {
 protected:
  ProgramCheckpointsTest() {
    EXPECT_TRUE(directory_.ok());
    fs::create_directories(place_);
  }
  /// A checkpoint as the program writes it.
  void Save(int step, const std::string& text, bool commit = true) {
    const std::string entry = StrCat(place_, "/ckpt-", step);
    fs::create_directories(entry);
    WriteFile(entry + "/weights", text);
    if (commit) WriteFile(entry + "/COMMIT", "");
  }
  void Remove(int step) { fs::remove_all(StrCat(place_, "/ckpt-", step)); }
  std::string Copy(int step) const { return StrCat(root_ / "checkpoints", "/", step); }
  std::optional<std::int64_t> TakesOver(ProgramCheckpoints& checkpoints, std::chrono::seconds now,
                                        bool ended_well = false) {
    const auto found = checkpoints.Find(now, ended_well);
    if (!found) return {};
    const Status taken = checkpoints.TakeOver(*found);
    EXPECT_TRUE(taken.ok()) << taken.message();
    return found->step;
  }

  TempDir root_;
  const std::string place_ = root_ / "program/saved";
  LocalStore store_{root_ / "store"};
  std::string log_;
  StorageCall host_{store_, [this](Level, std::string_view line) { log_ += StrCat(line, "\n"); }};
  PluginServices call_ = host_.call();
  Result<RunDirectory> directory_ = RunDirectory::Open(root_.path());
  CheckpointRule with_commit_{"saved", *LinePattern::Compile("ckpt-([0-9]+)"), "COMMIT"};
  CheckpointRule settling_{"saved", *LinePattern::Compile("ckpt-([0-9]+)"), ""};
};

/// TensorFlow finds its newest checkpoint by such a file.
TEST_F(ProgramCheckpointsTest, FileBesideIsKeptWithTheNewest) {
  settling_.beside = "checkpoint";
  ProgramCheckpoints checkpoints(settling_, 30s, *directory_, call_);
  ASSERT_TRUE(checkpoints.BeginAttempt(0s).ok());
  Save(5, "five", false);
  WriteFile(place_ + "/checkpoint", "5");
  EXPECT_FALSE(TakesOver(checkpoints, 0s));
  EXPECT_EQ(TakesOver(checkpoints, 31s), 5);
  EXPECT_EQ(ReadFile(Copy(5) + "/checkpoint"), "5");
  Save(7, "seven", false);
  fs::remove(place_ + "/checkpoint");  // TensorFlow replaces it
  WriteFile(place_ + "/checkpoint", "7");
  EXPECT_FALSE(TakesOver(checkpoints, 62s)) << "the older one was taken, the newer one is not settled";
  EXPECT_EQ(ReadFile(Copy(5) + "/checkpoint"), "5");
  EXPECT_EQ(TakesOver(checkpoints, 93s), 7);

  Remove(5), Remove(7);
  fs::remove(place_ + "/checkpoint");
  EXPECT_EQ(*checkpoints.BeginAttempt(94s), 7);
  EXPECT_EQ(ReadFile(place_ + "/checkpoint"), "7");
  EXPECT_EQ(ReadFile(place_ + "/ckpt-7/weights"), "seven");
}

TEST_F(ProgramCheckpointsTest, CommittedCheckpointIsCopiedOnce) {
  ProgramCheckpoints checkpoints(with_commit_, 30s, *directory_, call_);
  ASSERT_TRUE(checkpoints.BeginAttempt(0s).ok());
  Save(5, "five", false);
  EXPECT_FALSE(checkpoints.Find(100s, true)) << "it has no commit file";
  Save(5, "five");
  Save(7, "seven");
  fs::create_directories(place_ + "/ckpt-9.tmp");
  WriteFile(place_ + "/ckpt-9.tmp/COMMIT", "");
  EXPECT_EQ(TakesOver(checkpoints, 0s), 7) << "only the newest, and only whole names";
  EXPECT_EQ(TakesOver(checkpoints, 0s), std::nullopt);
  EXPECT_EQ(checkpoints.Copies(), std::vector<std::int64_t>{7});
  Remove(7);
  EXPECT_EQ(ReadFile(Copy(7) + "/ckpt-7/weights"), "seven") << "the program has removed its own";
}

TEST_F(ProgramCheckpointsTest, CheckpointThatIsPrunedWhileItIsTakenIsPassedOver) {
  ProgramCheckpoints checkpoints(with_commit_, 30s, *directory_, call_);
  ASSERT_TRUE(checkpoints.BeginAttempt(0s).ok());
  Save(5, "five");
  const auto found = checkpoints.Find(0s, false);
  ASSERT_TRUE(found);
  Remove(5);
  EXPECT_EQ(checkpoints.TakeOver(*found).code(), Code::kNotFound);
  EXPECT_FALSE(fs::exists(Copy(5)));
  EXPECT_FALSE(fs::exists(Copy(5) + ".json"));
  Save(7, "seven");
  const auto changing = checkpoints.Find(0s, false);
  ASSERT_TRUE(changing);
  Save(7, "another seven");
  EXPECT_EQ(checkpoints.TakeOver(*changing).code(), Code::kNotFound);
  EXPECT_TRUE(checkpoints.Copies().empty());
  EXPECT_EQ(TakesOver(checkpoints, 0s), 7) << "as it is now";
}

TEST_F(ProgramCheckpointsTest, WithoutACommitFileItMustStayUnchanged) {
  ProgramCheckpoints checkpoints(settling_, 30s, *directory_, call_);
  ASSERT_TRUE(checkpoints.BeginAttempt(0s).ok());
  Save(5, "fi");
  EXPECT_FALSE(checkpoints.Find(1s, false));
  Save(5, "five");
  EXPECT_FALSE(checkpoints.Find(31s, false)) << "it has grown";
  EXPECT_FALSE(checkpoints.Find(60s, false));
  EXPECT_EQ(TakesOver(checkpoints, 61s), 5);
  Save(7, "seven");
  EXPECT_EQ(TakesOver(checkpoints, 62s, true), 7) << "the program has ended with 0";
}

TEST_F(ProgramCheckpointsTest, CheckpointThatAnAttemptLeftUnsettledMayBeTorn) {
  Save(5, "fi");
  ProgramCheckpoints checkpoints(settling_, 30s, *directory_, call_);
  ASSERT_TRUE(checkpoints.BeginAttempt(0s).ok());
  EXPECT_FALSE(checkpoints.Find(100s, false));
  Save(5, "five");
  EXPECT_FALSE(checkpoints.Find(101s, false));
  EXPECT_EQ(TakesOver(checkpoints, 131s), 5);
}

TEST_F(ProgramCheckpointsTest, NewestCopyGoesBackToItsPlace) {
  ProgramCheckpoints checkpoints(with_commit_, 30s, *directory_, call_);
  ASSERT_TRUE(checkpoints.BeginAttempt(0s).ok());
  for (const int step : {5, 7, 9}) {
    Save(step, StrCat("at ", step));
    ASSERT_EQ(TakesOver(checkpoints, 0s), step);
  }
  checkpoints.Prune(2);
  EXPECT_EQ(checkpoints.Copies(), (std::vector<std::int64_t>{7, 9}));
  fs::remove_all(root_ / "program");
  Save(11, "torn", false);
  EXPECT_EQ(*checkpoints.BeginAttempt(0s), 9);
  EXPECT_EQ(ReadFile(place_ + "/ckpt-9/weights"), "at 9");
  EXPECT_FALSE(fs::exists(place_ + "/ckpt-7"));
  EXPECT_FALSE(checkpoints.Find(100s, true)) << "it is that of the copy";
  WriteFile(place_ + "/ckpt-9/weights", "mine");
  EXPECT_EQ(ReadFile(Copy(9) + "/ckpt-9/weights"), "at 9") << "it is no link";

  // A copy that is damaged is not used.
  fs::remove_all(root_ / "program");
  WriteFile(Copy(9) + "/ckpt-9/weights", "bad!");
  EXPECT_EQ(*checkpoints.BeginAttempt(0s), 7);
  EXPECT_NE(log_.find("ckpt-9/weights: is damaged; going back to the one before"), std::string::npos) << log_;
  fs::remove_all(root_ / "program");
  fs::remove(Copy(7) + "/ckpt-7/weights");
  EXPECT_EQ(checkpoints.BeginAttempt(0s).status().code(), Code::kDataLoss);
}

TEST_F(ProgramCheckpointsTest, UnfinishedCopyIsRemoved) {
  fs::create_directories(Copy(5) + "/ckpt-5");
  WriteFile(Copy(5) + "/ckpt-5/weights", "fi");
  WriteFile(Copy(5) + ".json", R"({"pipe_checkpoint": 1, "step": 5, "unfinished": true})");
  ProgramCheckpoints checkpoints(with_commit_, 30s, *directory_, call_);
  EXPECT_EQ(*checkpoints.BeginAttempt(0s), std::nullopt);
  EXPECT_FALSE(fs::exists(Copy(5)));
  EXPECT_FALSE(fs::exists(place_ + "/ckpt-5"));
}

TEST_F(ProgramCheckpointsTest, FilesOfOneStepAndLinksBelongTogether) {
  const CheckpointRule rule{".", *LinePattern::Compile(R"(model\.ckpt-([0-9]+)\..*)"), ""};
  ProgramCheckpoints checkpoints(rule, 30s, *directory_, call_);
  ASSERT_TRUE(checkpoints.BeginAttempt(0s).ok());
  WriteFile(root_ / "program/model.ckpt-0020.index", "index");
  WriteFile(root_ / "blob", "data");
  fs::create_symlink("../blob", root_ / "program/model.ckpt-0020.data");
  EXPECT_EQ(TakesOver(checkpoints, 0s, true), 20);
  EXPECT_EQ(ReadFile(Copy(20) + "/model.ckpt-0020.index"), "index");
  EXPECT_EQ(ReadFile(Copy(20) + "/model.ckpt-0020.data"), "data");
}

/// Several hosts begin at one checkpoint, so each has that one as its newest.
TEST_F(ProgramCheckpointsTest, HostsBeginAtTheStepThatTheAttemptNames) {
  ProgramCheckpoints checkpoints(with_commit_, 30s, *directory_, call_);
  ASSERT_TRUE(checkpoints.BeginAttemptAt(-1, true, 0s).ok());
  for (const int step : {5, 10, 15}) {
    Save(step, StrCat("at ", step));
    EXPECT_EQ(TakesOver(checkpoints, 0s), step);
  }
  Save(20, "torn", false);
  ASSERT_TRUE(checkpoints.BeginAttemptAt(10, true, 1s).ok());
  EXPECT_EQ(checkpoints.Copies(), (std::vector<std::int64_t>{5, 10}));
  for (const int step : {5, 10, 15, 20})
    EXPECT_EQ(fs::exists(StrCat(place_, "/ckpt-", step)), step <= 10) << step;
  EXPECT_FALSE(TakesOver(checkpoints, 1s)) << "it is no progress";

  Remove(10);
  Save(10, "of 10");  // as long as the copy, and other bytes
  ASSERT_TRUE(checkpoints.BeginAttemptAt(10, false, 2s).ok());
  EXPECT_EQ(ReadFile(place_ + "/ckpt-10/weights"), "at 10");
  EXPECT_FALSE(fs::exists(place_ + "/ckpt-5"));
  EXPECT_EQ(checkpoints.Copies(), (std::vector<std::int64_t>{10}));

  WriteFile(Copy(10) + "/ckpt-10/weights", "damage");
  Remove(10);
  EXPECT_EQ(checkpoints.BeginAttemptAt(10, false, 3s).code(), Code::kUnavailable);
  ASSERT_TRUE(checkpoints.BeginAttemptAt(-1, false, 4s).ok());
  EXPECT_TRUE(checkpoints.Copies().empty());
}

TEST_F(ProgramCheckpointsTest, CheckpointsOfAnotherDirectoryAreOnlySeen) {
  const std::string program = root_ / "seen-by-all";
  ProgramCheckpoints checkpoints(with_commit_, 30s, *directory_, call_,
                                 {.directory = program, .copies = false});
  EXPECT_EQ(*checkpoints.BeginWatching(0s), std::nullopt);
  fs::create_directories(program + "/saved/ckpt-5");
  EXPECT_FALSE(TakesOver(checkpoints, 0s));
  WriteFile(program + "/saved/ckpt-5/COMMIT", "");
  EXPECT_EQ(TakesOver(checkpoints, 0s), 5);
  EXPECT_FALSE(TakesOver(checkpoints, 0s));
  EXPECT_EQ(*checkpoints.BeginWatching(1s), 5);
  EXPECT_FALSE(TakesOver(checkpoints, 1s)) << "it is no progress of another attempt";
  checkpoints.Prune(1);
  EXPECT_TRUE(checkpoints.Copies().empty());
  const auto newest = checkpoints.FindNewest();
  ASSERT_TRUE(newest.ok() && *newest);
  EXPECT_EQ((*newest)->step, 5);
  EXPECT_EQ((*newest)->files, (std::vector<std::string>{"ckpt-5/COMMIT"}));
}

}  // namespace
}  // namespace pipeline
