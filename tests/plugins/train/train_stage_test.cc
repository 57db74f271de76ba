// The stage `train`, with a trainer that does as it is told.
#include <signal.h>

#include "plugins/train/checkpoint_marker.h"
#include "plugins/train/file_facts.h"
#include "tests/plugins/train/train_stage_fixture.h"

namespace pipeline {
namespace {

namespace fs = std::filesystem;

// ---------------------------------------------------------------------------------- what should be

TEST_F(TrainStageTest, TrainsAndPublishesWhatBelongsToTheArtifact) {
  const Result<JobOutput> output = Run();
  ASSERT_TRUE(output.ok()) << output.status().message() << log_;
  std::vector<std::string> names;
  for (const StoredObject& object : output->objects) names.push_back(object.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"export/model.safetensors", "export/pipe.json",
                                      "export/tokenizer.model", "config.json", "job.json", "result.json"}));
  EXPECT_EQ(output->facts["final"]["bits_per_char"].AsDouble(), 4.5);
  EXPECT_EQ(progress_, "20/0") << "an export has no pace of steps";
  EXPECT_EQ(said_.front(), "starting, step 0 of 20");
  EXPECT_EQ(said_.at(1), "step 0 of 20");
  EXPECT_EQ(said_.at(2), "step 2 of 20, loss 6.667, 51.2 k tokens/s");
  EXPECT_EQ(said_.back(), "exporting, step 20 of 20");
  EXPECT_NE(notes_.find("1000 rows of 64 ids (63000 targets, 125 steps an epoch), 1000 held out, 400 pieces"),
            std::string::npos)
      << notes_;
  EXPECT_NE(notes_.find("step 20: validation loss 3.000, 4.500 bits per character (bigram 5.250)"),
            std::string::npos);
  EXPECT_NE(notes_.find("step 10: 吾輩 | 吾輩は猫である<b>"), std::string::npos) << notes_;
  EXPECT_EQ(events_["step"], 10);
  EXPECT_EQ(events_["eval"], 2);
  EXPECT_EQ(events_["bye"], 1);
  EXPECT_EQ(events_["hb"], 0);
  const Result<Json> job = Json::Parse(ReadFile(root_ / "run/job.json"));
  ASSERT_TRUE(job.ok());
  EXPECT_EQ((*job)["tokenizer"]["digest"].AsString(), DigestOf(kModel).ToHex());
  EXPECT_EQ((*job)["data"]["dir"].AsString(), (root_ / "packed"));
  EXPECT_EQ((*job)["lineage"]["tokenizer"]["lineage"].AsArray().size(), 1u);
  EXPECT_EQ((*job)["recipe"].AsString(), "0123456789abcdef0000000000000001");
  EXPECT_FALSE(job->Has("environment"));
  const std::string events = ReadFile(root_ / "run/events.jsonl");
  EXPECT_EQ(std::count(events.begin(), events.end(), '\n'),
            events_["hello"] + events_["plan"] + events_["baseline"] + events_["phase"] + events_["step"] +
                events_["eval"] + events_["sample"] + events_["ckpt_begin"] + events_["ckpt_commit"] +
                events_["bye"]);
}

TEST_F(TrainStageTest, ScoresOfLabelsAreTold) {
  config_["config"]["scores"] = Json(Json::Object{{"macro_f1", 0.75}, {"balanced_accuracy", 0.625}});
  const Result<JobOutput> output = Run();
  ASSERT_TRUE(output.ok()) << output.status().message() << log_;
  EXPECT_NE(notes_.find(", macro F1 0.750, balanced accuracy 0.625"), std::string::npos) << notes_;
  EXPECT_EQ(notes_.find("root mean square"), std::string::npos) << notes_;
}

TEST_F(TrainStageTest, AnswersAboutNextSentencesAreTold) {
  config_["config"]["scores"] = Json(Json::Object{{"next_sentence_accuracy", 0.625}});
  const Result<JobOutput> output = Run();
  ASSERT_TRUE(output.ok()) << output.status().message() << log_;
  EXPECT_NE(notes_.find(", next sentence 62.5 % right"), std::string::npos) << notes_;
}

TEST_F(TrainStageTest, ScoresOfNumbersAreTold) {
  config_["config"]["scores"] = Json(Json::Object{{"rmse", 1250000.0}, {"pearson", 0.9}});
  const Result<JobOutput> output = Run();
  ASSERT_TRUE(output.ok()) << output.status().message() << log_;
  EXPECT_NE(notes_.find(", root mean square error 1.25e+06, Pearson correlation 0.900"), std::string::npos)
      << notes_;
}

TEST_F(TrainStageTest, PricesOfLeanerFilesAreTold) {
  config_["config"]["prices"] = Json(Json::Object{{"model-q8_0.gguf", 4.5625}, {"int8.safetensors", Json()}});
  const Result<JobOutput> output = Run();
  ASSERT_TRUE(output.ok()) << output.status().message() << log_;
  EXPECT_NE(
      notes_.find("model-q8_0.gguf (in 8 bits): loss 3.0625, 4.5625 bits per character; as trained 3.0000\n"),
      std::string::npos)
      << notes_;
  EXPECT_NE(notes_.find("int8.safetensors (in 8 bits): loss 3.0625; as trained 3.0000\n"), std::string::npos)
      << notes_;
}

TEST_F(TrainStageTest, WhatStandsIsNotTrainedAgain) {
  Done(1);
  fs::remove_all(root_ / "environment");
  Done(1);
  config_["steps"] = 15;  // fewer than there are
  ASSERT_TRUE(Run().ok());
  EXPECT_EQ(Attempts(), 1);
}

TEST_F(TrainStageTest, MoreStepsGoOnFromTheLastCheckpoint) {
  Done(1);
  config_["steps"] = 40;
  Done(2);
  EXPECT_NE(notes_.find("goes on from the checkpoint at step 20"), std::string::npos) << notes_;
  EXPECT_EQ(events_["step"], 10);
  EXPECT_EQ(ReadFile(root_ / "run/export/model.safetensors"), "weights at 40");
}

TEST_F(TrainStageTest, AFinishedResultStaysUntilTheLongerOneIsThere) {
  const auto artifact = [this] {
    std::string all;
    for (const char* name : {"export/model.safetensors", "config.json", "job.json", "result.json"})
      all += ReadFile(StrCat(root_ / "run/", name)) + "\n";
    return all;
  };
  Does(R"([{}, {"steps": 30, "then": "exit", "code": 65}, {"then": "exit", "code": 64}, {}])");
  Done(1);
  EXPECT_EQ(withdrawn_, "alone;");
  const std::string first = artifact();
  config_["steps"] = 40;
  EXPECT_FALSE(Run().ok());
  EXPECT_FALSE(Run().ok());
  EXPECT_EQ(Attempts(), 3);
  EXPECT_EQ(artifact(), first);
  EXPECT_EQ(withdrawn_, "alone;");
  Done(4);
  EXPECT_EQ(withdrawn_, "alone;beside a result;");
  EXPECT_EQ(ReadFile(root_ / "run/export/model.safetensors"), "weights at 40");
  const Json job = *Json::Parse(ReadFile(root_ / "run/job.json"));
  EXPECT_EQ(job["steps"].AsInt(), 40);
  EXPECT_FALSE(job.Has("results"));
  EXPECT_FALSE(fs::exists(root_ / "run/next"));
  Done(4);
  EXPECT_EQ(withdrawn_, "alone;beside a result;") << "what stands is not withdrawn";
}

/// A kill between the end of a longer training and its publication, and one inside the installation.
TEST_F(TrainStageTest, ADoneResultIsInstalledByTheNextRun) {
  for (const bool inside : {false, true}) {
    run_ = inside ? "inside" : "before";
    config_["steps"] = 20;
    Done(1);
    config_["steps"] = 40;
    refuses_ = true;
    EXPECT_FALSE(Run().ok()) << "the lease is lost";
    refuses_ = false;
    EXPECT_EQ((*Json::Parse(ReadFile(RunDir() + "/result.json")))["steps"].AsInt(), 20);
    if (inside) {
      fs::remove(RunDir() + "/result.json");
      fs::remove_all(RunDir() + "/export");
      fs::rename(RunDir() + "/next/export", RunDir() + "/export");
    }
    Done(2);
    EXPECT_EQ(ReadFile(RunDir() + "/export/model.safetensors"), "weights at 40");
    EXPECT_EQ((*Json::Parse(ReadFile(RunDir() + "/job.json")))["steps"].AsInt(), 40);
    EXPECT_FALSE(fs::exists(RunDir() + "/next"));
  }
}

TEST_F(TrainStageTest, ATrainingWithoutCheckpointsReplacesNoFinishedModelUnasked) {
  Done(1);
  fs::remove_all(root_ / "run/checkpoints");
  Done(1);
  config_["steps"] = 40;
  Fails(Code::kFailedPrecondition,
        "has the finished model of 20 steps and no checkpoint, so 40 steps would begin", 1);
  EXPECT_EQ(ReadFile(root_ / "run/export/model.safetensors"), "weights at 20");
  forced_ = true;
  Done(2);
  EXPECT_EQ(ReadFile(root_ / "run/export/model.safetensors"), "weights at 40");
}

TEST_F(TrainStageTest, AnotherExportTakesTheCheckpointsOfTheFinishedTraining) {
  run_ = "runs/train-00000000000000aa";
  Done(1);
  const std::string place = RunDir() + "/checkpoints/20";
  CheckpointMarker list;
  list.step = 20;
  const Result<std::vector<std::string>> names = FilesBelow(place);
  for (const std::string& name : *names)
    list.files.push_back(*MeasureFile(place, name, [] { return false; }));
  WriteFile(place + ".json", list.Encode());
  config_["config"]["export"]["int8"] = true;
  const std::string best = R"({"loss": 1, "step": 20})";
  WriteFile(RunDir() + "/best.json", best);
  run_ = "runs/train-00000000000000bb";
  Done(1);
  EXPECT_EQ(ReadFile(RunDir() + "/export/model.safetensors"), "weights at 20");
  EXPECT_EQ(events_["step"], 0) << notes_;
  ASSERT_TRUE(fs::exists(RunDir() + "/best.json")) << log_;
  EXPECT_EQ(*Json::Parse(ReadFile(RunDir() + "/best.json")), *Json::Parse(best));
  EXPECT_TRUE(Logged("which it differs in its export alone (config.export.int8: none -> true)")) << log_;
  EXPECT_FALSE(Logged("a new training begins"));
  config_["config"]["export"]["int8"] = false;
  config_["seed"] = 1;
  run_ = "runs/train-00000000000000cc";
  Done(1);
  EXPECT_GT(events_["step"], 0) << "another seed is another model";
  config_["seed"] = 0;
  config_["steps"] = 30;
  config_["config"]["export"]["gguf"] = "f16";
  run_ = "runs/train-00000000000000dd";
  Done(1);
  EXPECT_GT(events_["step"], 0) << "more steps than the model has";
  // A kill while the checkpoints are copied.
  config_["steps"] = 20;
  config_["config"]["export"]["gguf"] = "q8_0";
  run_ = "runs/train-00000000000000ee";
  fs::create_directories(RunDir() + "/checkpoints/5");
  WriteFile(RunDir() + "/taking.json", "{}");
  Done(1);
  EXPECT_EQ(events_["step"], 0) << notes_;
  EXPECT_FALSE(fs::exists(RunDir() + "/taking.json"));
}

TEST_F(TrainStageTest, OnlyTheLastEvaluationIsMadeWhereNoOtherIsAskedFor) {
  config_["eval_every"] = 0;
  Done(1);
  EXPECT_EQ(events_["eval"], 1);
}

TEST_F(TrainStageTest, ResultThatStoppedEarlyStandsUntilStepsOrTheRuleChange) {
  config_["early_stop"]["patience"] = 2;
  config_["steps"] = 100;
  const auto stops_at = [&](int step, int attempts) {
    const Result<JobOutput> output = Run();
    ASSERT_TRUE(output.ok()) << output.status().message() << log_;
    EXPECT_EQ(output->facts["steps"].AsInt(), step);
    EXPECT_EQ(output->facts["stopped_early"].AsInt(-1), step);
    EXPECT_EQ(Attempts(), attempts);
  };
  stops_at(30, 1);
  stops_at(30, 1);
  config_["steps"] = 20;  // fewer than there are
  ASSERT_TRUE(Run().ok());
  EXPECT_EQ(Attempts(), 1);
  config_["steps"] = 120;
  stops_at(60, 2);
  config_["early_stop"]["patience"] = 1;
  stops_at(80, 3);
  config_["early_stop"] = Json(Json::Object{});
  Done(4);
}

TEST_F(TrainStageTest, TrainerThatStopsEarlyUnaskedHasNoGoodResult) {
  Does(R"([{"then": "early"}])");
  Fails(Code::kInternal, "says 17 steps, and 20 were asked for", 2);
}

TEST_F(TrainStageTest, JobWithoutTheNewKeysIsThatOfTheVersionBefore) {
  Done(1);
  Json job = *Json::Parse(ReadFile(root_ / "run/job.json"));
  for (const char* key : {"keep_best", "early_stop", "steps_before", "external"})
    EXPECT_FALSE(job.Has(key)) << key;
  config_["keep_best"] = false;
  config_["early_stop"] = Json(Json::Object{});
  Done(1);
  config_["steps"] = 40;
  Done(2);
  EXPECT_EQ((*Json::Parse(ReadFile(root_ / "run/job.json")))["steps_before"].AsInt(), 20);
  config_["steps"] = 60;
  Done(3);
  EXPECT_EQ((*Json::Parse(ReadFile(root_ / "run/job.json")))["steps_before"].AsInt(), 20);
}

/// What lay beyond the checkpoint that it went back to is no measure of what it gets on.
TEST_F(TrainStageTest, CheckpointsBehindAnExtensionAreProgress) {
  config_["config"]["decay"] = 12;
  config_["steps"] = 20;
  Done(1);
  config_["steps"] = 40;
  config_["restarts"] = 0;
  Does(R"([{}, {"steps": 5, "then": "signal", "signal": 9}, {}])");
  Done(3);
  EXPECT_NE(notes_.find("goes back from step 20 to the checkpoint before the rate fell, at step 12"),
            std::string::npos)
      << notes_;
}

TEST_F(TrainStageTest, OtherPromptsOnTheSameStepsRunTheTrainerOnceMore) {
  Done(1);
  config_["prompts"] = Json(Json::Array{Json("春")});
  Done(2);
  EXPECT_EQ(events_["step"], 0);
}

TEST_F(TrainStageTest, WithoutAnExportThereIsNone) {
  config_["export"] = false;
  const Result<JobOutput> output = Run();
  ASSERT_TRUE(output.ok()) << output.status().message();
  EXPECT_EQ(output->objects.size(), 3u);
}

TEST_F(TrainStageTest, ADirectoryInWhichSeveralHostsTrainedIsGoneOnFrom) {
  Done(1);
  // As two hosts would have left it: their parts and a marker, and no checkpoint of the form that a trainer
  // reads.
  const std::string run = root_ / "run", made = run + "/checkpoints/20", before = root_ / "before";
  const auto names = FilesBelow(made);
  ASSERT_TRUE(names.ok() && names->size() >= 2);
  CheckpointMarker marker;
  marker.step = 20;
  marker.attempt = 1;
  marker.parts = {{0, {}}, {1, {}}};
  for (const std::string& name : *names)
    marker.parts[name == names->front() ? 0 : 1].files.push_back(
        *MeasureFile(made, name, [] { return false; }));
  std::filesystem::rename(run + "/checkpoints", before);
  for (const CheckpointMarker::Folder& folder : marker.Folders())
    for (const FileFacts& file : *folder.files) {
      const std::filesystem::path place = StrCat(run, "/checkpoints/", folder.path, "/", file.name);
      std::filesystem::create_directories(place.parent_path());
      std::filesystem::rename(StrCat(before, "/20/", file.name), place);
    }
  WriteFile(StrCat(run, "/checkpoints/", marker.Name().Marker()), marker.Encode());
  std::filesystem::create_directories(run + "/attempts");
  WriteFile(run + "/attempts/00001.json", "{}");
  std::filesystem::remove(run + "/result.json");

  config_["steps"] = 40;
  const Result<JobOutput> output = Run();
  ASSERT_TRUE(output.ok()) << output.status().message() << "\n" << log_;
  EXPECT_NE(notes_.find("goes on from the checkpoint at step 20"), std::string::npos) << notes_;
  EXPECT_EQ(ReadFile(run + "/export/model.safetensors"), "weights at 40");
  EXPECT_TRUE(std::filesystem::exists(run + "/result.json"));
  config_["steps"] = 60;
  ASSERT_TRUE(Run().ok()) << log_;
  EXPECT_NE(notes_.find("goes on from the checkpoint at step 40"), std::string::npos) << notes_;
}

// -------------------------------------------------------------------------------------- exit codes

struct ExitCase {
  const char* behaviours;
  Code code;  // kOk: it is done in the end
  const char* why;
  int attempts;
};
class TrainExitTest : public TrainStageTest, public testing::WithParamInterface<ExitCase> {};

TEST_P(TrainExitTest, IsFollowedAsTheContractSays) {
  const ExitCase& wanted = GetParam();
  Does(wanted.behaviours);
  config_["restarts"] = 2;
  if (wanted.code == Code::kOk)
    Done(wanted.attempts);
  else
    Fails(wanted.code, wanted.why, wanted.attempts);
}

INSTANTIATE_TEST_SUITE_P(
    All, TrainExitTest,
    testing::Values(
        ExitCase{
            R"([{"steps": 7, "then": "exit", "code": 64, "message": "config.modle: did you mean model"}])",
            Code::kInvalidArgument, "(config.modle: did you mean model)", 1},
        ExitCase{R"([{"steps": 7, "then": "exit", "code": 65, "message": "shard 3 at byte 88"}])",
                 Code::kDataLoss, "shard 3 at byte 88", 1},
        ExitCase{R"([{"steps": 7, "then": "exit", "code": 78}])", Code::kFailedPrecondition, "environment",
                 1},
        ExitCase{R"([{"steps": 7, "then": "exit", "code": 86}])", Code::kFailedPrecondition, "diverged", 1},
        ExitCase{R"([{"steps": 7, "then": "exit", "code": 1}])", Code::kInternal, "exit code 1", 1},
        ExitCase{R"([{"steps": 2, "then": "exit", "code": 70}])", Code::kInternal, "a bug of the trainer", 1},
        ExitCase{R"([{"steps": 7, "then": "exit", "code": 70}, {}])", Code::kOk, "", 2},
        ExitCase{R"([{"steps": 7, "then": "exit", "code": 70}])", Code::kInternal, "a bug", 2},
        ExitCase{
            R"([{"steps": 2, "then": "exit", "code": 69}, {"then": "exit", "code": 75, "steps": 2}, {}])",
            Code::kOk, "", 3},
        ExitCase{R"([{"steps": 0, "then": "exit", "code": 75}])", Code::kUnavailable,
                 "given up after 3 attempts in a row without a new checkpoint", 3},
        ExitCase{R"([{"steps": 6, "then": "exit", "code": 42}, {"steps": 6, "then": "exit", "code": 42},
                     {"steps": 6, "then": "exit", "code": 42}, {}])",
                 Code::kOk, "", 4},
        ExitCase{R"([{"steps": 0, "then": "exit", "code": 42}])", Code::kUnavailable, "given up after 3", 3},
        ExitCase{R"([{"steps": 6, "then": "exit", "code": 137}, {}])", Code::kOk, "", 2},
        ExitCase{R"([{"steps": 6, "then": "signal", "signal": 9}, {}])", Code::kOk, "", 2},
        ExitCase{R"([{"steps": 6, "then": "signal", "signal": 11}, {}])", Code::kOk, "", 2},
        ExitCase{R"([{"steps": 2, "then": "signal", "signal": 9}, {}])", Code::kUnavailable, "memory is full",
                 1},
        ExitCase{R"([{"steps": 2, "then": "signal", "signal": 6}, {}])", Code::kUnavailable, "no checkpoint",
                 1},
        ExitCase{R"([{"then": "no_result"}])", Code::kInternal, "left no good result", 2},
        ExitCase{R"([{"then": "bad_result"}])", Code::kInternal, "result.json: is no JSON object", 2},
        ExitCase{R"([{"steps": 10}])", Code::kOk, "", 2}));

TEST_F(TrainStageTest, DeviceOfAnotherProgramIsWaitedForWithoutAnAttempt) {
  config_["patience"] = 0.02;
  config_["restarts"] = 0;
  const std::string held =
      R"j({"steps": 0, "then": "exit", "code": 76, "message": "the TPU is held by process 7 (python x.py)"})j";
  Does(StrCat("[", held, ", ", held, ", {}]"));
  Done(3);
  EXPECT_TRUE(Logged("(the TPU is held by process 7 (python x.py)); starting it again in 2 s")) << log_;
}

TEST_F(TrainStageTest, FailureShowsTheLastWordsAndNamesTheLog) {
  Does(R"([{"steps": 0, "then": "exit", "code": 65}])");
  Fails(Code::kDataLoss, "run/logs/attempt-1.log", 1);
  EXPECT_TRUE(Logged("| the last words of the trainer")) << log_;
}

// --------------------------------------------------------------------------------- hanging trainers

TEST_F(TrainStageTest, MuteTrainerThatIgnoresSignalsIsKilledAndStartedAgain) {
  config_["patience"] = 0.03;
  Does(R"([{"steps": 2, "then": "mute"}, {}])");
  Done(2);
  EXPECT_TRUE(Logged("said nothing for")) << log_;
}

TEST_F(TrainStageTest, StepThatNeverEndsIsSeenThroughItsHeartbeats) {
  config_["patience"] = 0.03;
  Does(R"([{"steps": 8, "then": "hang"}, {}])");
  Done(2);
  EXPECT_TRUE(Logged("stayed at step 8 for")) << log_;
}

TEST_F(TrainStageTest, TrainerThatNeverSpeaksIsGivenUp) {
  config_["patience"] = 0.003;
  config_["restarts"] = 0;
  Does(R"([{"then": "hang_at_start"}])");
  Fails(Code::kUnavailable, "was in phase 'init' for", 1);  // each phase: WatchdogPhaseTest
}

// --------------------------------------------------------------------------------------- noise

class TrainNoiseTest : public TrainStageTest, public testing::WithParamInterface<const char*> {};

TEST_P(TrainNoiseTest, DoesNotKeepItFromBeingDone) {
  Does(StrCat(R"([{"noise": [")", GetParam(), R"("]}])"));
  const auto begin = std::chrono::steady_clock::now();
  Done(1);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(19))
      << "it waits for nobody who holds an end open";
  EXPECT_EQ(events_["bye"], 1);
}

INSTANTIATE_TEST_SUITE_P(All, TrainNoiseTest,
                         testing::Values("stdout", "bad_lines", "flood", "half_line", "long_line",
                                         "grandchild"));

TEST_F(TrainStageTest, BadLinesAreToldOf) {
  Does(R"([{"noise": ["bad_lines"]}])");
  Done(1);
  EXPECT_TRUE(Logged("9 lines on the trainer's event channel were no events; the first: not json")) << log_;
}

TEST_F(TrainStageTest, FloodOfEventsIsCutAndWhatDecidesStays) {
  Does(R"([{"noise": ["flood"]}])");
  Done(1);
  EXPECT_TRUE(Logged("events came too fast to be kept")) << log_;
  EXPECT_EQ(events_["ckpt_commit"], 4);
}

TEST_F(TrainStageTest, FloodOfOutputTakesABoundedLog) {
  Does(R"([{"noise": ["stdout"]}])");
  Done(1);
  EXPECT_LE(fs::file_size(root_ / "run/logs/attempt-1.log"), 16u << 20);
  EXPECT_TRUE(fs::exists(root_ / "run/logs/attempt-1.log.1"));
}

// ------------------------------------------------------------------------------------- stopping

TEST_F(TrainStageTest, StopSavesAndTheNextRunGoesOn) {
  Does(R"([{"steps": 1000000000}, {}])");
  config_["steps"] = 1'000'000;
  stop_on_ = "eval";
  EXPECT_EQ(Run().status().code(), Code::kCancelled) << log_;
  EXPECT_EQ(events_["preempt"], 1);
  EXPECT_TRUE(Logged("the trainer gets at most 1 s to end its step and save it (`grace`)")) << log_;
  EXPECT_TRUE(Logged(" is saved, nothing is lost")) << log_;
  EXPECT_FALSE(fs::exists(root_ / "run/result.json"));
  stop_on_.clear();
  config_["steps"] = 200;  // a busy machine stops it late
  Done(2);
  EXPECT_NE(notes_.find("goes on from the checkpoint at step "), std::string::npos) << notes_;
}

TEST_F(TrainStageTest, TrainerThatIgnoresTheStopIsKilledWhenTheGraceIsOver) {
  Does(R"([{"steps": 4, "then": "ignore_term"}])");
  stop_on_ = "warn";
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(Run().status().code(), Code::kCancelled) << log_;
  EXPECT_GT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1)) << "the grace";
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  EXPECT_EQ(Attempts(), 1);
  EXPECT_TRUE(
      Logged("train: no step is saved, and 4 steps after the beginning are lost, 0 seconds of training: the "
             "trainer was ended before it had saved; `grace` gives it longer"))
      << log_;
}

TEST_F(TrainStageTest, StopBeforeTheFirstStepLosesNothing) {
  Does(R"([{"steps": 0, "then": "ignore_term"}])");
  stop_on_ = "warn";
  EXPECT_EQ(Run().status().code(), Code::kCancelled) << log_;
  EXPECT_TRUE(Logged("train: no step had ended, nothing is lost")) << log_;
}

// ------------------------------------------------------------------------------- the status line

TEST_F(TrainStageTest, StepsAreShownFromTheFirstHeartbeatAndTheirTimeFromTheSecond) {
  config_["config"]["pace"] = 0.01;  // it has a phase `compile`
  Does(R"([{"beats": [[1, 1], [5, 2], [10, 4], [40, 4], [42, 5]]}])");
  Done(1);
  const std::vector<std::string> wanted = {"compiling, step 0 of 20",
                                           "step 0 of 20",
                                           "step 1 of 20",
                                           "step 2 of 20, 2.50 s a step",
                                           "step 4 of 20, 2.50 s a step",
                                           "step 4 of 20, 2.50 s a step",
                                           "step 5 of 20, 8.40 s a step"};
  const auto first = std::find(said_.begin(), said_.end(), wanted.front());
  ASSERT_GE(said_.end() - first, std::ssize(wanted));
  EXPECT_EQ(std::vector<std::string>(first, first + std::ssize(wanted)), wanted);
}

TEST_F(TrainStageTest, NothingIsShownThatIsOver) {
  Done(1);
  const auto shown = [this](std::string_view what) {
    return std::find_if(said_.begin(), said_.end(),
                        [&](const std::string& line) { return line.starts_with(what); });
  };
  for (const std::string_view phase : {"evaluating, step 10 of 20", "saving, step 10 of 20"}) {
    const auto said = shown(phase);
    ASSERT_NE(said, said_.end()) << phase;
    EXPECT_TRUE((said + 1)->starts_with("step 10 of 20")) << *(said + 1);
  }
}

// -------------------------------------------------------------------------------- several workers

TEST_F(TrainStageTest, WorkersTrainTogether) {
  config_["processes"] = 2;
  Done(1);
  EXPECT_TRUE(fs::exists(root_ / "run/logs/attempt-1.worker-1.log"));
  EXPECT_NE(ReadFile(root_ / "run/events.jsonl").find("\"worker\":1"), std::string::npos);
}

TEST_F(TrainStageTest, EndOfOneWorkerEndsAllAndIsTheCause) {
  config_["processes"] = 3;
  Does(R"([{"worker": 1, "steps": 2, "then": "exit", "code": 65, "message": "row 7"}])");
  Fails(Code::kDataLoss, "worker 1 of the trainer ended with exit code 65 (row 7)", 1);
}

TEST_F(TrainStageTest, WorkersStartAgainTogether) {
  config_["processes"] = 2;
  Does(R"([{"worker": 1, "steps": 6, "then": "signal", "signal": 9}, {}])");
  Done(2);
}

// ------------------------------------------------------------------ what is seen before it starts

TEST_F(TrainStageTest, MissingEnvironmentIsNamedWithItsCommand) {
  config_["environment"] = "/nowhere/env";
  Fails(Code::kFailedPrecondition,
        "/nowhere/env: there is no environment for the trainer; make it with: pipe trainer setup --dir "
        "/nowhere/env",
        0);
}

TEST_F(TrainStageTest, StaleEnvironmentIsNamedWithItsCommand) {
  WriteFile(root_ / "environment/made-from", "unfinished\n");
  Fails(Code::kFailedPrecondition, "is unfinished; make it with: pipe trainer setup --dir", 0);
}

TEST_F(TrainStageTest, AnotherTokenizerIsRefused) {
  WriteFile(root_ / "tokenizer/tokenizer.model", "another tokenizer");
  Fails(Code::kInvalidArgument, "were made with another tokenizer", 0);
}

TEST_F(TrainStageTest, ManifestOfAnotherVocabularyIsRefused) {
  WriteFile(root_ / "tokenizer/MANIFEST.json", R"({"facts": {"vocab_size": 401}})");
  Fails(Code::kInvalidArgument, "count 400 pieces of the tokenizer and its manifest 401", 0);
}

TEST_F(TrainStageTest, VocabularyLargerThanTheModelsIsRefused) {
  config_["config"]["model"]["vocab"] = 399;
  Fails(Code::kInvalidArgument, "config.model.vocab is 399, and the tokenizer has 400 ids", 0);
}

TEST_F(TrainStageTest, AnotherSequenceLengthIsRefused) {
  config_["config"]["model"]["seq_len"] = 128;
  Fails(Code::kInvalidArgument, "config.model.seq_len is 128, and the rows of `data` have 64", 0);
}

TEST_F(TrainStageTest, SplitThatIsMissingOrEmptyIsRefused) {
  packed_["splits"]["validation"]["rows"] = 0;
  Fails(Code::kInvalidArgument, "its split 'validation' has no rows", 0);
  packed_["splits"].Remove("validation");
  Fails(Code::kInvalidArgument, "there is no split 'validation', only train", 0);
}

TEST_F(TrainStageTest, WholeDocumentsAreRefusedByName) {
  packed_["pipe_packed"] = 4;
  packed_["encoding"] = "mmap";
  packed_["packing"] = "documents";
  Fails(Code::kInvalidArgument,
        "whole documents, which the trainer does not read: give write_packed `packing: stream` or `best_fit`",
        0);
}

TEST_F(TrainStageTest, DataThatIsNotPackedIsRefused) {
  packed_["pipe_packed"] = 4;
  Fails(Code::kInvalidArgument, "no packed data of version 1, 2, 3 or 5", 0);
  packed_["pipe_packed"] = 3;
  Fails(Code::kInvalidArgument, "no packed data of version 1, 2, 3 or 5", 0);
}

TEST_F(TrainStageTest, IdsOfAVocabularyAreForTheFamilyBert) {
  packed_["pipe_packed"] = 5;
  packed_["tokenizer"]["layout"] = "bert";
  Fails(Code::kInvalidArgument,
        "the ids of a vocab.txt are for a model of the family bert, which does not learn causal", 0);
}

TEST_F(TrainStageTest, WeightedRowsWithoutAScoredTargetAreRefused) {
  packed_["pipe_packed"] = 3;
  packed_["weights"] = true;
  packed_["splits"]["train"]["scored"] = 5;
  Fails(Code::kDataLoss, "its split 'validation' has 0 scored targets, where it needs one", 0);
  packed_["splits"]["validation"]["scored"] = 1 << 30;
  Fails(Code::kDataLoss, "its split 'validation' has 1073741824 scored targets", 0);
}

TEST_F(TrainStageTest, RowsThatTheReaderDoesNotKnowAreRefused) {
  packed_["pipe_packed"] = 2;
  packed_["encoding"] = "array_record";
  Fails(Code::kInvalidArgument, "rows in array_record, which the trainer does not read: give write_packed",
        0);
  packed_["encoding"] = "example";
  packed_["segments"] = true;
  Fails(Code::kInvalidArgument, "rows with segments, which the trainer does not read", 0);
}

TEST_F(TrainStageTest, NumbersAreForRegressionAlone) {
  packed_["labels"] = "numbers";
  for (const std::string_view other : {"causal", "prefix", "classes"}) {
    config_["config"]["objective"]["name"] = other;
    Fails(Code::kInvalidArgument,
          StrCat("its labels are numbers, which config.objective.name: ", other, " does not learn"), 0);
  }
  packed_["labels"] = Json::Array{};
  config_["config"]["objective"]["name"] = "regression";
  Fails(Code::kInvalidArgument, "give write_packed `labels: numbers`", 0);
}

/// Before anything has run: what will be made is known by the stages that will make it.
TEST_F(TrainStageTest, WhatItCouldNotUseIsRefusedBeforeItIsMade) {
  Json packed, tokenizer;
  packed["seq_len"] = 64;
  Schema schema;
  schema.splits = {"train", "validation"};
  const auto refusal = [&](std::string_view maker) {
    return std::string(
        type_->check_promised(config_, {}, {"data", maker, packed, schema, Json(Json::Object{})}).message());
  };
  EXPECT_EQ(refusal("write_packed"), "");
  EXPECT_EQ(refusal("another.plugin"), "");
  EXPECT_NE(refusal("write_tfds").find("data: is made by a stage of type write_tfds"), std::string::npos);
  packed["encoding"] = "mmap";
  EXPECT_NE(refusal("write_packed").find("data: rows in mmap, which the trainer does not read"),
            std::string::npos);
  packed["packing"] = "documents";
  EXPECT_NE(refusal("write_packed").find("data: whole documents, which the trainer does not read"),
            std::string::npos);
  packed.Remove("packing");
  packed["encoding"] = "example";
  packed["labels"] = Json::Array{Json("numbers")};
  config_["config"]["objective"]["name"] = "causal";
  EXPECT_NE(refusal("write_packed").find("data: its labels are numbers, which config.objective.name: causal"),
            std::string::npos);
  config_["config"]["objective"]["name"] = "regression";
  EXPECT_EQ(refusal("write_packed"), "");
  packed["labels"] = Json::Array{Json("no"), Json("yes")};
  EXPECT_NE(refusal("write_packed").find("data: its labels are no numbers, which config.objective.name"),
            std::string::npos);
  config_["config"].Remove("objective");
  packed["encoding"] = "raw16";
  config_["config"]["model"]["seq_len"] = 128;
  EXPECT_NE(refusal("write_packed").find("config.model.seq_len is 128, and the rows of `data` have 64"),
            std::string::npos);
  config_["config"]["model"]["seq_len"] = 64;
  schema.splits = {"train", "test"};
  EXPECT_NE(refusal("write_packed").find("data: there is no split 'validation', only train, test"),
            std::string::npos);

  const auto of_tokenizer = [&](std::string_view maker, std::string_view facts) {
    return std::string(
        type_->check_promised(config_, {}, {"tokenizer", maker, tokenizer, schema, *Json::Parse(facts)})
            .message());
  };
  config_["config"]["model"]["vocab"] = 399;
  EXPECT_EQ(of_tokenizer("train_tokenizer", R"({"vocab_size": 399})"), "");
  EXPECT_NE(of_tokenizer("train_tokenizer", R"({"vocab_size": 400})").find("config.model.vocab is 399"),
            std::string::npos);
  EXPECT_NE(of_tokenizer("write_packed", "{}").find("makes no tokenizer"), std::string::npos);
  EXPECT_NE(of_tokenizer("train_tokenizer", R"({"vocab_size": 300, "layout": "bert"})")
                .find("tokenizer: the ids of a vocab.txt are for a model of the family bert"),
            std::string::npos);

  const auto of_model = [&](std::string_view maker) {
    const Json none{Json::Object{}};
    return std::string(
        type_->check_promised(config_, {}, {"init_from", maker, none, schema, none}).message());
  };
  EXPECT_EQ(of_model("train.train"), "");
  EXPECT_NE(of_model("train_tokenizer").find("init_from: a stage of type train_tokenizer makes no model"),
            std::string::npos);
}

TEST_F(TrainStageTest, CheckJudgesTheKeys) {
  Schema schema;
  EXPECT_TRUE(type_->check(config_, schema).ok());
  for (const auto& [key, value] :
       {std::pair("steps", Json(0)), std::pair("processes", Json(0)), std::pair("processes", Json(65)),
        std::pair("restarts", Json(-1)), std::pair("patience", Json(0.0)), std::pair("environment", Json("")),
        std::pair("early_stop", Json(3)), std::pair("early_stop", *Json::Parse("{\"patience\": 0}")),
        std::pair("early_stop", *Json::Parse("{\"min_delta\": 1}")),
        std::pair("early_stop", *Json::Parse("{\"patience\": 1, \"min_delta\": -1}")),
        std::pair("early_stop", *Json::Parse("{\"patience\": 1, \"delta\": 1}")),
        std::pair("profile", *Json::Parse("{\"step\": 1}")),
        std::pair("profile", *Json::Parse("{\"step\": 0, \"steps\": 1}")),
        std::pair("profile", *Json::Parse("{\"step\": 21, \"steps\": 1}")),
        std::pair("profile", *Json::Parse("{\"step\": 1, \"steps\": 101}")),
        std::pair("profile", *Json::Parse("{\"step\": 1, \"steps\": 1, \"to\": 1}")),
        std::pair("eval_every", Json(-1))}) {
    Json wrong = config_;
    wrong[key] = value;
    const Status status = type_->check(wrong, schema);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << key;
    EXPECT_EQ(status.message().substr(0, std::string_view(key).size()), key);
  }
}

TEST_F(TrainStageTest, EpochsAreStepsOfTheRowsThatAreThere) {
  config_.Remove("steps");
  config_["epochs"] = 1.5;
  config_["config"]["batch"]["rows"] = 100;
  const auto steps = [this] {
    const Result<JobOutput> output = Run();
    return output.ok() ? output->facts["steps"].AsInt() : -1;
  };
  EXPECT_EQ(steps(), 15) << "of 1,000 rows";
  EXPECT_NE(notes_.find("1.5 epochs are 15 steps"), std::string::npos) << notes_;
  ASSERT_TRUE(Run().ok()) << log_;
  EXPECT_EQ(Attempts(), 1) << "it is not trained again";
  config_["epochs"] = 2;
  EXPECT_EQ(steps(), 20);
  EXPECT_NE(notes_.find("goes on from the checkpoint at step 15"), std::string::npos) << notes_;
  const auto refused = [&](std::string_view why) {
    Schema schema;
    const std::string message(type_->check(config_, schema).message());
    EXPECT_NE(message.find(why), std::string::npos) << message;
  };
  config_["steps"] = 20;
  refused("epochs: stands beside `steps`");
  config_.Remove("steps");
  config_["epochs"] = 0;
  refused("epochs: must be above 0");
  config_.Remove("epochs");
  refused("steps: is missing; give it, or `epochs`");
}

}  // namespace
}  // namespace pipeline
