#include "plugins/train/slice/host_trainer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "base/str.h"
#include "storage/memory_store.h"
#include "tests/plugins/train/storage_call.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

/// Host 1 of two, with a program of the test instead of a trainer.
class HostTrainerTest : public testing::Test {
 protected:
  HostTrainerTest() {
    job_.run_uri = "gs://bkt/run";
    job_.position.host = 1;
    job_.position.hosts = 2;
    job_.settings["keep_checkpoints"] = 2;
    job_.settings["processes"] = 1;
    Result<RunDirectory> opened = RunDirectory::Open((root_.path() / "disk").string());
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    directory_ = std::make_unique<RunDirectory>(std::move(*opened));
  }
  template <class Use>
  auto With(const Use& use) {
    SliceCheckpoints checkpoints(job_, host_call_, *directory_);
    BucketRun bucket(job_, *directory_, host_call_);
    const TrainInputs inputs;
    const PreparedTraining training{.job = job_,
                                    .call = host_call_,
                                    .inputs = inputs,
                                    .directory = *directory_,
                                    .bucket = &bucket,
                                    .python = program_.string()};
    HostTrainer trainer({.training = training, .data_digest = {}, .job_file = Json(Json::Object{})},
                        checkpoints);
    return use(trainer);
  }
  TrainerEnd EndOf(std::int64_t attempt, const std::string& script, bool stops = false) {
    WriteFile(program_, StrCat("#!/bin/sh\n", script, "\n"));
    std::filesystem::permissions(program_, std::filesystem::perms::owner_all);
    return With([attempt, stops](HostTrainer& trainer) {
      AttemptRecord record;
      record.number = attempt;
      trainer.Start(record);
      if (stops) trainer.Stop();
      for (int look = 0; look < 3000; ++look) {
        if (const auto end = trainer.TakeEnd()) return *end;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
      ADD_FAILURE() << "it has not ended";
      return TrainerEnd{};
    });
  }
  bool TriesAgainAfter(const TrainerEnd& end) {
    return With([&end](HostTrainer& trainer) { return trainer.Advise(end).kind; }) ==
           RestartDecision::Kind::kAgain;
  }
  bool Exists(const std::string& name) const { return std::filesystem::exists(directory_->Path(name)); }

  TempDir root_;
  const std::filesystem::path program_ = root_.path() / "program";
  MemoryStore store_;
  StorageCall call_{store_};
  PluginServices host_call_ = call_.call();
  TrainJob job_;
  std::unique_ptr<RunDirectory> directory_;
};

TEST_F(HostTrainerTest, AnEndIsNotExplainedByAnEarlierTraining) {
  WriteFile(directory_->Path("logs/attempt-3.error.json"),
            R"({"code": 65, "message": "the rows are damaged"})");
  const TrainerEnd end = EndOf(3, "kill -KILL $$");
  EXPECT_EQ(end.signal, 9);
  EXPECT_EQ(end.cause.find("damaged"), std::string::npos) << end.cause;
  const TrainerEnd told =
      EndOf(4, R"(echo '{"code": 75, "message": "no peer"}' > "$PIPE_ERROR_FILE"; exit 75)");
  EXPECT_EQ(told.code, 75);
  EXPECT_NE(told.cause.find("no peer"), std::string::npos) << told.cause;
}

TEST_F(HostTrainerTest, AnAbortIsTriedAgainWithoutANewCheckpoint) {
  job_.settings["restarts"] = 3;
  EXPECT_TRUE(TriesAgainAfter({.signal = 6, .cause = "aborted"}));
  EXPECT_TRUE(TriesAgainAfter({.code = 128 + 6, .cause = "aborted"}));
  EXPECT_FALSE(TriesAgainAfter({.signal = 11, .cause = "a bug"}));
}

TEST_F(HostTrainerTest, TheLeaderDecidesAboutAStop) {
  const TrainerEnd end = EndOf(1, "exec sleep 60", true);
  EXPECT_EQ(end.signal, 15);
  EXPECT_FALSE(end.stopped) << "the restart policy of host 0 would end the run without a reason";
}

TEST_F(HostTrainerTest, LogsOfOldAttemptsGo) {
  for (int attempt = 1; attempt <= 30; ++attempt)
    WriteFile(directory_->Path(StrCat("logs/attempt-", attempt, ".log")), "x");
  EXPECT_EQ(EndOf(31, "exit 75").code, 75);
  EXPECT_FALSE(Exists("logs/attempt-11.log")) << "a run of thousands of attempts would fill the disk";
  EXPECT_TRUE(Exists("logs/attempt-12.log"));
  EXPECT_TRUE(Exists("logs/attempt-31.log"));
}

}  // namespace
}  // namespace pipeline
