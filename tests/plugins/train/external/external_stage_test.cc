// `trainer: external`, with a program that does as it is told: external/external.md.
#include "dag/pipeline_file/config.h"
#include "plugins/train/checkpoint_marker.h"
#include "tests/plugins/train/bucket_stage_fixture.h"
#include "tests/plugins/train/external/external_keys.h"

namespace pipeline {
namespace {

namespace fs = std::filesystem;

class ExternalStageTest : public TrainStageTest {
 protected:
  ExternalStageTest() {
    config_ = ExternalKeys(root_ / "does.json");
    WriteFile(root_ / "does.json", "[{}]");
  }
  void Does(std::string_view behaviours) { WriteFile(root_ / "does.json", behaviours); }
  std::string ReadRun(std::string_view name) const { return ReadFile(StrCat(root_ / "run/", name)); }
};

TEST_F(ExternalStageTest, TrainsToTheEndAndIsPublished) {
  const Result<JobOutput> output = Run();
  ASSERT_TRUE(output.ok()) << output.status().message() << log_;
  std::vector<std::string> names;
  for (const StoredObject& object : output->objects) names.push_back(object.name);
  EXPECT_EQ(names, (std::vector<std::string>{"export/model.bin", "config.json", "job.json", "result.json"}));
  EXPECT_EQ(ReadRun("export/model.bin"), "model at 20");
  EXPECT_EQ(output->facts["steps"].AsInt(), 20);
  EXPECT_EQ(output->facts["final"]["loss"].AsDouble(), 0.4);
  EXPECT_EQ(output->facts["final"]["step"].AsInt(), 20);
  EXPECT_EQ(progress_, "20/20");
  EXPECT_GE(events_["step"], 11) << "every second one, as `log_every` says, and the last";
  EXPECT_LT(events_["step"], 20);
  EXPECT_GE(events_["ckpt_commit"], 1);
  const Result<CheckpointMarker> marker = ParseCheckpointMarker(ReadRun("checkpoints/20.json"), "20.json");
  ASSERT_TRUE(marker.ok()) << marker.status().message();
  ASSERT_EQ(marker->files.size(), 2u);
  EXPECT_EQ(marker->files.back().name, "checkpoint-20/weights");
  EXPECT_EQ(ReadRun("checkpoints/20/checkpoint-20/weights"), "weights at 20");
  EXPECT_EQ(*Json::Parse(ReadRun("program/words.json")),
            *Json::Parse(StrCat(R"(["--run", ")", root_ / "run/program", R"(", "--steps", "20", "--does", ")",
                                root_ / "does.json", R"(", "--rest", ")", root_ / "packed", "|",
                                root_ / "tokenizer/tokenizer.model", R"(|7|0/1|{}"])")));
  EXPECT_EQ(*Json::Parse(ReadRun("config.json")), (*Json::Parse(ReadRun("job.json")))["external"]);

  ASSERT_TRUE(Run().ok());
  EXPECT_EQ(Attempts(), 1) << "it is not trained again";
  config_["steps"] = 30;
  Done(2);
  EXPECT_NE(notes_.find("goes on from the checkpoint at step 20"), std::string::npos) << notes_;
  EXPECT_EQ(ReadRun("export/model.bin"), "model at 30");
}

TEST_F(ExternalStageTest, GoesOnFromItsCheckpointsByTheBudget) {
  Does(R"([{"steps": 7, "then": "exit", "code": 3}, {"steps": 12, "then": "exit", "code": 4}, {}])");
  Done(3);
  EXPECT_TRUE(Logged("ended with exit code 4 (its last line: step 12 loss=0.6667); starting it again"))
      << log_;
  EXPECT_NE(ReadRun("logs/attempt-3.log").find("continues from 10"), std::string::npos);
}

TEST_F(ExternalStageTest, AttemptsWithoutANewCheckpointAreBounded) {
  Does(R"([{"steps": 7, "then": "exit", "code": 3}])");
  Fails(Code::kUnavailable, "given up after 2 attempts in a row without a new checkpoint", 3);
}

TEST_F(ExternalStageTest, SilenceIsAHangAndTheGroupIsKilled) {
  config_["silence"] = 1;
  Does(R"([{"steps": 6, "then": "hang"}, {}])");
  Done(2);
  EXPECT_TRUE(Logged("wrote no line and no checkpoint for")) << log_;
}

TEST_F(ExternalStageTest, StepsMayComeFromTensorBoard) {
  Json recognise;
  recognise["tensorboard"]["directory"] = "logs";
  recognise["tensorboard"]["loss"] = "train/loss";
  recognise["checkpoint"] = config_["recognise"]["checkpoint"];
  config_["recognise"] = recognise;
  Does(R"([{"steps": 7, "then": "exit", "code": 3, "events": true}, {"events": true}])");
  Done(2);
  EXPECT_GE(events_["step"], 4) << "the first and the last of each attempt";
  EXPECT_EQ(progress_, "20/20");
  const Json result = *Json::Parse(ReadRun("result.json"));
  EXPECT_EQ(result["final"]["step"].AsInt(), 20);
  EXPECT_NEAR(result["final"]["loss"].AsDouble(), 0.4, 1e-6);
}

TEST_F(ExternalStageTest, FloodIsBounded) {
  Does(R"([{"then": "flood"}])");
  Done(1);
  EXPECT_LE(fs::file_size(root_ / "run/logs/attempt-1.log"), 16u << 20);
  EXPECT_TRUE(fs::exists(root_ / "run/program/flooded"));
  EXPECT_LT(events_["step"], 100);
}

TEST_F(ExternalStageTest, EarlyEndWithCodeZeroIsNoSuccess) {
  config_.Remove("success");
  Does(R"([{"steps": 12}])");
  Fails(Code::kUnavailable,
        "exit code 0, but the newest checkpoint is at step 10, and 20 steps were asked for; see `recognise`, "
        "or, if it may end before, add `ends_early: true`: given up after 2 attempts in a row without a new "
        "checkpoint",
        3);
  EXPECT_FALSE(fs::exists(root_ / "run/result.json"));
}

TEST_F(ExternalStageTest, EarlyEndWithCodeZeroGoesOnByTheBudget) {
  Does(R"([{"steps": 12, "save": false}, {}])");
  Done(2);
  EXPECT_TRUE(Logged("exit code 0, but `success` names model.*")) << log_;
}

/// Models are often written with each checkpoint, so an early end leaves one.
TEST_F(ExternalStageTest, AModelOfFewerStepsIsNoSuccess) {
  Does(R"([{"steps": 12}, {}])");
  Done(2);
  EXPECT_TRUE(
      Logged("it ended at step 12, and 20 steps were asked for; see `recognise`, or, if it may end "
             "before, add `ends_early: true`"))
      << log_;
  EXPECT_EQ(ReadRun("export/model.bin"), "model at 20");
}

TEST_F(ExternalStageTest, AGracefulEndAfterAStopIsNoSuccess) {
  for (const bool early : {false, true}) {
    Does(R"([{"steps": 7, "stops": "well", "then": "wait"}])");
    config_["ends_early"] = early;
    config_["grace"] = 20;
    stop_on_ = "ckpt_commit";
    EXPECT_EQ(Run().status().code(), Code::kCancelled) << log_;
    EXPECT_EQ(ReadRun("program/model.bin"), "model at 7");
    EXPECT_FALSE(fs::exists(root_ / "run/result.json"));
    stop_on_.clear();
    Does("[{}]");
    Done(2);
    EXPECT_EQ(ReadRun("export/model.bin"), "model at 20");
    fs::remove_all(root_ / "run");
  }
}

TEST_F(ExternalStageTest, AnEarlyEndMayBeASuccess) {
  config_["ends_early"] = true;
  Does(R"([{"steps": 12}])");
  ASSERT_TRUE(Run().ok()) << log_;
  Json result = *Json::Parse(ReadRun("result.json"));
  EXPECT_EQ(result["steps"], 12);
  EXPECT_EQ(result["stopped_early"]["step"], 12);
  EXPECT_EQ(ReadRun("export/model.bin"), "model at 12");
  ASSERT_TRUE(Run().ok());
  EXPECT_EQ(Attempts(), 1) << "it is not trained again";
  config_["ends_early"] = false;
  Does("[{}]");
  Done(2);
  result = *Json::Parse(ReadRun("result.json"));
  EXPECT_EQ(result["steps"], 20);
  EXPECT_FALSE(result.Has("stopped_early"));
  config_["ends_early"] = true;
  config_["steps"] = 30;
  config_["recognise"].Remove("checkpoint");
  WriteFile(root_ / "nothing.sh", "#!/bin/sh\necho model > \"$1/model.bin\"\n");
  fs::permissions(root_ / "nothing.sh", fs::perms::owner_all);
  config_.Remove("command");
  config_["command"].Append(root_ / "nothing.sh");
  config_["command"].Append("{run_dir}");
  fs::remove_all(root_ / "run");
  Fails(Code::kUnavailable, "no step of it was recognised, and 30 steps were asked for", 2);
}

TEST_F(ExternalStageTest, WithoutPatternsFilesAreNewAndStepsUnknown) {
  WriteFile(root_ / "does.sh",
            "#!/bin/sh\n[ $PIPE_ATTEMPT = 1 ] && echo model > model.bin && exit 3\n"
            "[ $PIPE_ATTEMPT = 4 ] && echo model > model.bin\nexit 0\n");
  fs::permissions(root_ / "does.sh", fs::perms::owner_all);
  config_.Remove("command"), config_.Remove("recognise");
  config_["command"].Append(root_ / "does.sh");
  config_["directory"] = "{run_dir}";
  Fails(Code::kUnavailable, "the files of `success` are those of an earlier attempt; remove them from", 2);
  config_["restarts"] = 2;
  ASSERT_TRUE(Run().ok()) << log_;
  const Json result = *Json::Parse(ReadRun("result.json"));
  EXPECT_TRUE(result.Has("steps") && result["steps"].is_null()) << result.Dump();
  EXPECT_EQ(result["asked_steps"], 20);
  const int attempts = Attempts();
  ASSERT_TRUE(Run().ok());
  EXPECT_EQ(Attempts(), attempts) << "it is not trained again";
}

TEST_F(ExternalStageTest, AProgramMayCountFromZero) {
  config_["recognise"].Remove("checkpoint");
  Does(R"([{"first": 0}])");
  Fails(Code::kUnavailable,
        "it ended at step 19, and 20 steps were asked for; if it counts its steps from 0, add "
        "`first_step: 0`",
        2);
  fs::remove_all(root_ / "run");
  config_["first_step"] = 0;
  ASSERT_TRUE(Run().ok()) << log_;
  const Json result = *Json::Parse(ReadRun("result.json"));
  EXPECT_EQ(result["steps"], 20);
  EXPECT_EQ(result["final"]["step"], 19);
}

/// A file of an earlier attempt is no result of one that did nothing.
TEST_F(ExternalStageTest, StepsOfTheAttemptBeforeNeedNewFiles) {
  config_["recognise"].Remove("checkpoint");
  config_["ends_early"] = true;
  Does(R"([{"steps": 12, "then": "kill"}, {"steps": 0, "save": false}])");
  fs::create_directories(root_ / "run/program");
  WriteFile(root_ / "run/program/model.bin", "best so far");
  Fails(Code::kUnavailable, "no step of it was recognised, and 20 steps were asked for", 2);
}

/// The attempt that had no step left prints none.
TEST_F(ExternalStageTest, StepsOfTheAttemptBeforeCount) {
  config_["recognise"].Remove("checkpoint");
  Does(R"([{"save": false, "then": "exit", "code": 3}, {}])");
  Done(2);
  EXPECT_EQ((*Json::Parse(ReadRun("result.json")))["steps"], 20);
}

TEST_F(ExternalStageTest, TheLastLossBelongsToItsStep) {
  Does(R"([{"loss": "nan"}])");
  ASSERT_TRUE(Run().ok()) << log_;
  Json last = (*Json::Parse(ReadRun("result.json")))["final"];
  EXPECT_EQ(last.Dump(), R"({"loss":null,"step":20})");
  EXPECT_TRUE(Logged("the loss is no finite number since step 9")) << log_;
  fs::remove_all(root_ / "run");
  Does(R"([{"loss": ""}])");
  ASSERT_TRUE(Run().ok()) << log_;
  last = (*Json::Parse(ReadRun("result.json")))["final"];
  EXPECT_EQ(last.Dump(), R"({"loss":1.0,"step":8})");
  EXPECT_TRUE(Logged("no loss was recognised after step 8, and the last step is 20")) << log_;
}

/// torchrun starts its ranks in sessions of their own.
TEST_F(ExternalStageTest, ProcessesThatOutliveTheProgramAreEnded) {
  Does(R"([{"steps": 7, "then": "kill"}, {}])");
  Done(2);
  EXPECT_TRUE(Logged("a process of an attempt outlived the trainer and is ended: sleep ")) << log_;
}

/// The model of 20 steps must not be published as one of 30.
TEST_F(ExternalStageTest, OldFilesAreNoResultOfMoreSteps) {
  Done(1);
  EXPECT_EQ(ReadRun("export/model.bin"), "model at 20");
  config_["steps"] = 30;
  Does(R"([{"steps": 0, "save": false}])");
  Fails(Code::kUnavailable, "exit code 0, but it ended at step 20, and 30 steps were asked for", 3);
  EXPECT_EQ((*Json::Parse(ReadRun("result.json")))["steps"].AsInt(), 20);
  EXPECT_EQ(ReadRun("export/model.bin"), "model at 20") << "it stays until the longer one is there";
  Does("[{}]");
  Done(4);
  EXPECT_EQ(ReadRun("export/model.bin"), "model at 30");
  EXPECT_FALSE(fs::exists(root_ / "run/export.earlier.json"));
}

TEST_F(ExternalStageTest, SameFilesAreAResultOfAsManySteps) {
  Done(1);
  config_["steps"] = 30;
  Does(R"([{"steps": 0, "save": false}])");
  EXPECT_FALSE(Run().ok());
  config_["steps"] = 20;
  EXPECT_TRUE(Run().ok()) << log_;
  EXPECT_EQ(ReadRun("export/model.bin"), "model at 20");
  fs::remove_all(root_ / "run/export");
  EXPECT_TRUE(Run().ok()) << "an export that was removed is made again\n" << log_;
  EXPECT_EQ(ReadRun("export/model.bin"), "model at 20");
}

TEST_F(ExternalStageTest, WithoutNamesTheNewestCheckpointIsPublished) {
  config_.Remove("success");
  Done(1);
  EXPECT_EQ(ReadRun("export/checkpoint-20/weights"), "weights at 20");
}

TEST_F(ExternalStageTest, OutputElsewhereFailsByName) {
  config_["success"].Append("tokenizer/*.json");
  Fails(Code::kFailedPrecondition, "`success` names tokenizer/*.json, and there is no such file in", 1);
}

TEST_F(ExternalStageTest, FatalCodeIsNotTriedAgain) {
  config_["fatal"] = Json(Json::Array{Json("64"), Json("3")});
  Does(R"([{"steps": 7, "then": "exit", "code": 3}])");
  Fails(Code::kFailedPrecondition, "exit code 3 (its last line: step 7 loss=1.1429), which is in `fatal`", 1);
}

TEST_F(ExternalStageTest, StopThatIsIgnoredEndsWithTheGrace) {
  Does(R"([{"steps": 0, "then": "ignore_term"}, {}])");
  stop_on_ = "step";
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(Run().status().code(), Code::kCancelled) << log_;
  EXPECT_GT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1)) << "the grace";
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  EXPECT_EQ(Attempts(), 1);
}

TEST_F(ExternalStageTest, ProgramsOfTheEnvironmentComeFirst) {
  fs::create_directories(root_ / "own/bin");
  fs::create_symlink(StrCat(SourceDir(), "/tests/plugins/train/external/external_trainer.py"),
                     root_ / "own/bin/sh");
  Json command = config_["command"];
  config_.Remove("command");
  config_["command"].Append("sh");
  for (std::size_t at = 1; at < command.AsArray().size(); ++at)
    config_["command"].Append(command.AsArray()[at]);
  config_["environment"] = root_ / "own";
  Done(1);
  config_["environment"] = root_ / "nowhere";
  config_["steps"] = 30;
  Fails(Code::kFailedPrecondition, "nowhere/bin is no directory", 1);
}

/// Programs that know no flag for a place find it in a variable, in a file, or where they run.
TEST_F(ExternalStageTest, SurroundingsAreLaidOutForEachAttempt) {
  WriteFile(root_ / "told.sh",
            "#!/bin/sh\n"
            "ls > seen; cat given >> seen; echo \"$OF_DATA\" >> seen; echo left > leftover\n"
            "[ $PIPE_ATTEMPT = 1 ] && exit 3; echo model > model.bin\n");
  fs::permissions(root_ / "told.sh", fs::perms::owner_all);
  config_.Remove("command"), config_.Remove("recognise");
  config_["command"].Append(root_ / "told.sh");
  config_["directory"] = "{run_dir}";
  config_["variables"]["OF_DATA"] = "{data}:{checkout}";
  config_["checkout"] = root_ / "sources";
  config_["files"]["given"] = "{tokenizer}";
  config_["fresh"].Append("leftover");
  ASSERT_TRUE(Run().ok()) << log_;
  EXPECT_EQ(Attempts(), 2);
  EXPECT_EQ(ReadRun("program/seen"),
            StrCat("given\nseen\n", kModel, root_ / "packed", ":", root_ / "sources", "\n"));
  config_["steps"] = 30;
  config_["files"]["other"] = "{run_dir}/nowhere";
  Fails(Code::kFailedPrecondition, "files.other: ", 2);
}

TEST_F(ExternalStageTest, KeysAreCheckedByName) {
  Schema schema;
  EXPECT_TRUE(type_->check(config_, schema).ok()) << type_->check(config_, schema).message();
  const auto refused = [&](std::string_view key, Json value, std::string_view why) {
    Json wrong = config_;
    wrong[key] = std::move(value);
    const std::string message(type_->check(wrong, schema).message());
    EXPECT_TRUE(message.starts_with(key)) << key << ": " << message;
    EXPECT_NE(message.find(why), std::string::npos) << message;
  };
  refused("command", {}, "`trainer: external` needs it");
  refused("command", *Json::Parse(R"(["a", "--out={run_dri}"])"),
          "\"--out={run_dri}\" has an unknown placeholder {run_dri}; did you mean {run_dir}?");
  refused("command", *Json::Parse(R"(["{run_dir}/a"])"), "its first word names the program");
  for (const char* word : {"{", "a}", "{data", "{{data}", "{da{ta}}"})
    refused("command", Json(Json::Array{Json("a"), Json(word)}), StrCat("\"", word, "\" has a lone brace"));
  refused("recognise", *Json::Parse(R"({"steps": "x"})"), "recognise.steps: there is no such member");
  refused("recognise", *Json::Parse(R"({"step": "step [0-9]+"})"), "it has 0 groups");
  refused("recognise", *Json::Parse(R"j({"step": "step (\\d+)"})j"), "a digit is [0-9]");
  refused("recognise", *Json::Parse(R"({"step": "(step"})"), "recognise.step");
  refused("recognise", *Json::Parse(R"j({"loss": "([0-9]+)"})j"), "recognise.loss: needs `step`");
  refused("recognise", *Json::Parse(R"j({"checkpoint": {"directory": "../x", "step": "([0-9]+)"}})j"),
          "must be a name below {run_dir}");
  refused("recognise", *Json::Parse(R"({"checkpoint": {"directory": "x"}})"), "checkpoint.step: is missing");
  refused("recognise", *Json::Parse(R"({"tensorboard": {"directory": "x"}})"),
          "tensorboard.loss: is missing");
  refused("recognise", *Json::Parse(R"({"tensorboard": {"directory": "/x", "loss": "l"}})"),
          "tensorboard.directory: must be a name below {run_dir}");
  refused("recognise", *Json::Parse(R"j({"step": "(s)", "tensorboard": {"directory": "x", "loss": "l"}})j"),
          "recognise.tensorboard: has steps and losses itself");
  refused("success", Json(Json::Array{Json("/abs")}), "must have names below {run_dir}");
  refused("variables", *Json::Parse(R"({"PIPE_X": "1"})"), "does not begin with PIPE_");
  refused("variables", *Json::Parse(R"({"X": "{dat}"})"), "did you mean {data}?");
  refused("files", *Json::Parse(R"({"../x": "{data}"})"), "must have names below {run_dir}");
  refused("fresh", Json(Json::Array{Json(".")}), "must have names below {run_dir}");
  refused("directory", "{", "has a lone brace");
  refused("recognise",
          *Json::Parse(R"j({"checkpoint": {"directory": ".", "step": "(1)", "beside": "a/b"}})j"),
          "checkpoint.beside: must be a name in the directory");
  refused("first_step", 2, "must be 0 or 1");
  refused("fatal", Json(Json::Array{Json("0")}), "must have exit codes from 1 to 255");
  refused("silence", 0, "must be 1 or more seconds");
  refused("settle", 0, "must be 1 or more seconds");
  Json blind = config_;
  blind.Remove("recognise");
  blind["ends_early"] = true;
  EXPECT_TRUE(type_->check(blind, schema).message().starts_with("ends_early: without `recognise`"));
  config_["fresh"].Append("left");
  refused("shared", true, "no host changes `{run_dir}` of all, and `fresh` would");
  config_.Remove("fresh");
  for (const auto& [key, value] :
       {std::pair("config", *Json::Parse(R"({"preset": "tiny"})")),
        std::pair("prompts", Json(Json::Array{Json("x")})), std::pair("export", Json(false)),
        std::pair("keep_best", Json(true)), std::pair("processes", Json(2))})
    refused(key, value, "belongs to `trainer: bundled`");
  const Json external = config_;
  for (const char* key : {"command", "recognise", "success"}) {
    config_ = *Json::Parse(R"({"trainer": "bundled", "steps": 20})");
    refused(key, external[key], "belongs to `trainer: external`");
  }
  config_ = *Json::Parse(R"({"trainer": "external", "steps": 20, "command": ["a"]})");
  EXPECT_TRUE(type_->check(config_, schema).message().starts_with("success: "));
}

/// A new key in a recipe would train every model again.
TEST_F(ExternalStageTest, RecipeOfTheBundledTrainerStaysTheSame) {
  std::vector<std::string> with_value;
  Json filled;
  for (const ConfigKey& key : type_->keys)
    if (key.fallback != "~" && key.effect == Effect::kBytes) with_value.emplace_back(key.name);
  EXPECT_EQ(with_value, (std::vector<std::string>{"trainer", "config", "seed"}));
  const Json bundled = *Json::Parse(R"({"trainer": "bundled", "config": {}, "seed": 0, "steps": 20})");
  EXPECT_EQ(CanonicalConfig(type_->keys, bundled).Dump(), R"({"config":{},"seed":0,"trainer":"bundled"})");
  EXPECT_EQ(CanonicalConfig(type_->keys, config_).AsObject().size(), 6u) << "command, recognise, success";
}

class ExternalBucketTest : public BucketStageTest {
 protected:
  ExternalBucketTest() {
    config_ = ExternalKeys(root_ / "does.json");
    config_["patience"] = 1.0;
    config_["grace"] = 30;
  }
};

TEST_F(ExternalBucketTest, AnotherMachineGoesOnFromTheCheckpointInTheBucket) {
  WriteFile(root_ / "does.json", R"([{"steps": 12, "then": "exit", "code": 3}])");
  config_["restarts"] = 0;
  config_["fatal"] = Json(Json::Array{Json("3")});
  EXPECT_FALSE(Run().ok());
  EXPECT_EQ(Newest(), 10) << log_;
  Elsewhere();
  WriteFile(root_ / "does.json", "[{}]");
  GoesOnFrom(10, 20);
  EXPECT_NE(ReadFile(RunDir() + "/logs/attempt-2.log").find("continues from 10"), std::string::npos);
  EXPECT_EQ(Object("export/model.bin"), "model at 20");
  for (const std::string& name : Everything())
    EXPECT_EQ(name.find("program/"), std::string::npos) << "it belongs to the program: " << name;
}

TEST_F(ExternalBucketTest, ADirectoryOfAllHostsIsNotInABucket) {
  WriteFile(root_ / "does.json", "[{}]");
  config_["shared"] = true;
  position_.host = 1;
  position_.hosts = 2;
  position_.answer = Json(Json::Object{{"host", 1}, {"hosts", 2}, {"leader", "127.0.0.1"}});
  Fails(Code::kInvalidArgument, "/home/run is in a bucket, and {run_dir} of all hosts is a directory", 0);
}

}  // namespace
}  // namespace pipeline
