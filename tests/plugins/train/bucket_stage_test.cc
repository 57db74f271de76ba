// The stage `train` with its inputs and its run in a bucket: CONTRACT.md, section 10.
#include "tests/plugins/train/bucket_stage_fixture.h"

namespace pipeline {
namespace {

TEST_F(BucketStageTest, PublishesAndKeepsItsCheckpointsThere) {
  const Result<JobOutput> output = Run();
  ASSERT_TRUE(output.ok()) << output.status().message() << log_;
  std::vector<std::string> names;
  for (const StoredObject& object : output->objects) names.push_back(object.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"export/model.safetensors", "export/pipe.json",
                                      "export/tokenizer.model", "config.json", "job.json", "result.json"}));
  EXPECT_EQ(Object("export/model.safetensors"), "weights at 20");
  EXPECT_EQ(Newest(), 20);
  EXPECT_LE(Kept().size(), 3u);
  EXPECT_EQ(events_["ckpt_commit"], 4);
  EXPECT_GE(events_["ckpt_kept"], 1);
  for (const std::string& name : Everything())
    EXPECT_EQ(name.find("logs"), std::string::npos) << "only what belongs there: " << name;
  const Result<Json> job = Json::Parse(Object("job.json"));
  ASSERT_TRUE(job.ok());
  EXPECT_EQ((*job)["run_dir"].AsString(), home_ + "/run");
  EXPECT_EQ((*job)["data"]["dir"].AsString(), home_ + "/packed");
  EXPECT_EQ((*job)["tokenizer"]["model"].AsString(), home_ + "/tokenizer/tokenizer.model");
  const Result<Json> local = Json::Parse(ReadFile(RunDir() + "/job.json"));
  const std::string data((*local)["data"]["dir"].AsString());
  EXPECT_EQ(data.substr(0, kept_.size()), kept_);
  EXPECT_EQ(ReadFile(data + "/train-00000-of-00001.tfrecord"), std::string(5000, 't'));
  EXPECT_TRUE(std::filesystem::exists(data + "/MANIFEST.json"));
}

TEST_F(BucketStageTest, MachineWithNothingGoesOn) {
  config_["keep_checkpoints"] = 10;  // that which is brought here stays
  Done(1);
  Elsewhere();
  GoesOnFrom(20, 40);
  EXPECT_EQ(Object("export/model.safetensors"), "weights at 40");
  EXPECT_EQ(ReadFile(RunDir() + "/best.json").find("\"step\""), 1u);
  const std::string digests = RunDir() + "/checkpoints/20.json";
  const auto marker = ParseCheckpointMarker(ReadFile(digests), digests);
  ASSERT_TRUE(marker.ok()) << "what was brought here has its digests beside it";
  EXPECT_EQ(marker->step, 20);
}

TEST_F(BucketStageTest, ACheckpointOfSeveralHostsIsGoneOnFrom) {
  Done(1);
  // As two hosts would have sent it: a part of each, and the files apart.
  const std::string below = "home/run/checkpoints/";
  CheckpointMarker marker;
  for (const std::string& name : Everything()) {
    if (!name.starts_with(below)) continue;
    const auto object = ParseCheckpointObject(name.substr(below.size()));
    if (object && object->file.empty() && object->checkpoint.step == 20)
      marker = *ParseCheckpointMarker(fake.Get(kFakeBucket, name), name);
  }
  ASSERT_GE(marker.files.size(), 2u);
  const std::string was = marker.Name().Path();
  marker.attempt = 3;
  marker.parts = {{0, {marker.files.begin(), marker.files.begin() + 1}},
                  {1, {marker.files.begin() + 1, marker.files.end()}}};
  marker.files.clear();
  for (const CheckpointMarker::Folder& folder : marker.Folders())
    for (const FileFacts& file : *folder.files)
      fake.Put(kFakeBucket, StrCat(below, folder.path, "/", file.name),
               fake.Get(kFakeBucket, StrCat(below, was, "/", file.name)));
  for (const CheckpointPart& part : marker.parts)
    fake.Put(kFakeBucket, below + PartRecord::Name(20, 3, part.host), PartRecord{20, 3, 2, part}.Encode());
  for (const std::string& name : Everything())
    if (name.starts_with(below) && !name.starts_with(below + "20/"))
      fake.objects().Remove(kFakeBucket, name, std::nullopt, {});
  for (const std::string& name : Everything())
    if (name.starts_with(below + was)) fake.objects().Remove(kFakeBucket, name, std::nullopt, {});
  fake.Put(kFakeBucket, below + marker.Name().Marker(), marker.Encode());
  fake.objects().Remove(kFakeBucket, "home/run/result.json", std::nullopt, {});

  Elsewhere();
  config_["keep_checkpoints"] = 1;
  GoesOnFrom(20, 40);
  EXPECT_EQ(Object("export/model.safetensors"), "weights at 40");
  for (const std::string& name : Everything())
    EXPECT_FALSE(name.starts_with(below + "20/")) << "nobody needs it any more: " << name;
}

TEST_F(BucketStageTest, APartOfSeveralHostsWithoutTheOthersIsNoCheckpoint) {
  std::filesystem::create_directories(RunDir() + "/checkpoints/10/state/d");
  WriteFile(RunDir() + "/checkpoints/10/facts", "10");
  WriteFile(RunDir() + "/checkpoints/10/state/d/0.0", "half of it");
  Json part;
  part["pipe_checkpoint"] = 2;
  part["step"] = 10;
  part["attempt"] = 1;
  part["host"] = 0;
  part["hosts"] = 2;
  part["files"] = FilesToJson({{"facts", 2, Crc32c("10")}, {"state/d/0.0", 10, Crc32c("half of it")}});
  WriteFile(RunDir() + "/checkpoints/10.json", part.Dump());
  Done(1);
  EXPECT_FALSE(Noted("goes on from")) << notes_;
  EXPECT_EQ(events_["ckpt_commit"], 4);
}

TEST_F(BucketStageTest, DamagedLocalCheckpointIsNotSent) {
  std::filesystem::create_directories(RunDir() + "/checkpoints/10/state/d");
  WriteFile(RunDir() + "/checkpoints/10/facts", "10");
  WriteFile(RunDir() + "/checkpoints/10/state/d/weights", "");
  CheckpointMarker written;
  written.step = 10;
  written.files = {{"facts", 2, Crc32c("11")}, {"state/d/weights", 0, 0}};
  WriteFile(RunDir() + "/checkpoints/10.json", written.Encode());
  const Result<JobOutput> output = Run();
  ASSERT_TRUE(output.ok()) << output.status().message() << log_;
  EXPECT_TRUE(Logged("checkpoints/10/facts: is not as the trainer wrote it")) << log_;
  EXPECT_FALSE(Kept().contains(10));
}

TEST_F(BucketStageTest, UnfinishedLocalCheckpointIsNone) {
  std::filesystem::create_directories(RunDir() + "/checkpoints/10/state/d");
  WriteFile(RunDir() + "/checkpoints/10/facts", "10");
  WriteFile(RunDir() + "/checkpoints/10/state/d/weights", "");
  WriteFile(RunDir() + "/checkpoints/10.json", R"({"pipe_checkpoint": 1, "step": 10, "unfinished": true})");
  const Result<JobOutput> output = Run();
  ASSERT_TRUE(output.ok()) << output.status().message() << log_;
  EXPECT_FALSE(Logged("on this machine alone")) << log_;
  EXPECT_FALSE(Kept().contains(10));
}

TEST_F(BucketStageTest, SameMachineGoesOnFromWhatItHas) {
  Done(1);
  const int read = fake.requests("storage.objects.get");
  GoesOnFrom(20, 40);
  EXPECT_FALSE(Noted("bringing the checkpoint"));
  EXPECT_LT(fake.requests("storage.objects.get") - read, 60);
}

TEST_F(BucketStageTest, WhatStandsIsNotTrainedAgainAnywhere) {
  Done(1);
  const std::vector<std::string> before = Everything();
  Elsewhere();
  std::filesystem::remove_all(root_ / "environment");
  for (const int steps : {20, 15}) {
    config_["steps"] = steps;
    const Result<JobOutput> output = Run();
    ASSERT_TRUE(output.ok()) << output.status().message();
    EXPECT_EQ(output->objects.size(), 6u);
    EXPECT_EQ(output->facts["steps"].AsInt(), 20);
  }
  EXPECT_EQ(events_["hello"], 0);
  EXPECT_EQ(Everything(), before);
}

TEST_F(BucketStageTest, WhatIsTrainedAndNotPublishedIsOnlyPublished) {
  Done(1);
  for (const char* name : {"result.json", "config.json"})
    fake.objects().Remove(kFakeBucket, StrCat("home/run/", name), std::nullopt, {});
  std::filesystem::remove_all(root_ / "environment");
  ASSERT_TRUE(Run().ok());
  EXPECT_EQ(events_["hello"], 0);
  EXPECT_NE(Object("result.json"), "absent");
}

TEST_F(BucketStageTest, TheNewestInTheBucketWins) {
  Done(1);
  const std::string first = kept_;
  Elsewhere();
  GoesOnFrom(20, 40);
  kept_ = first;  // which has 20
  GoesOnFrom(40, 60);
}

/// On a machine that has nothing, and on the one before.
TEST_F(BucketStageTest, MoreStepsGoBackToThePinnedCheckpoint) {
  config_["config"]["decay"] = 12;
  config_["keep_checkpoints"] = 1;
  Done(1);
  EXPECT_EQ(Kept(), (std::set<std::int64_t>{12, 20}));
  Elsewhere();
  GoesOnFrom(12, 30);
  EXPECT_EQ(Kept(), (std::set<std::int64_t>{12, 30})) << "20 is not gone on from";
  GoesOnFrom(12, 40);
  EXPECT_EQ(Kept(), (std::set<std::int64_t>{12, 40}));
}

/// The bucket may have what lies beyond, or not any more.
TEST_F(BucketStageTest, KilledOrStoppedInAnExtensionTheNextMachineDoesTheSame) {
  config_["config"]["decay"] = 12;
  config_["keep_checkpoints"] = 1;
  config_["restarts"] = 0;
  for (const bool stopped : {false, true}) {
    for (const std::string& name : Everything())
      if (name.starts_with("home/run/")) fake.objects().Remove(kFakeBucket, name, std::nullopt, {});
    Elsewhere();
    Does(R"([{}])");
    config_["steps"] = 20;
    ASSERT_TRUE(Run().ok()) << log_;
    // It trains nothing meanwhile, so that step 20 can only be the one that it went back from.
    Does(stopped ? R"([{}, {"steps": 0, "then": "hang"}])" : R"([{}, {"then": "crash", "at": "extend"}])");
    if (stopped) stop_on_ = "extend";
    config_["steps"] = 40;
    EXPECT_FALSE(Run().ok()) << stopped;
    EXPECT_TRUE(Kept().contains(12)) << stopped;
    stop_on_.clear();
    Elsewhere();
    Does(R"([{}])");
    ASSERT_TRUE(Run().ok()) << stopped << log_;
    EXPECT_FALSE(Noted("goes on from the checkpoint at step 20\n")) << stopped << notes_;
    EXPECT_EQ(Kept(), (std::set<std::int64_t>{12, 40})) << stopped;
  }
}

TEST_F(BucketStageTest, TheBestIsKeptThereAndBroughtToTheNextMachine) {
  config_["keep_best"] = true;
  config_["keep_checkpoints"] = 1;
  config_["config"]["losses"] = *Json::Parse(R"({"10": 3, "20": 4, "30": 2, "40": 5})");
  Done(1);
  EXPECT_EQ(Kept(), (std::set<std::int64_t>{10, 20}));
  EXPECT_EQ(Object("export/model.safetensors"), "weights at 10");
  Elsewhere();
  config_["steps"] = 25;
  ASSERT_TRUE(Run().ok()) << log_;
  EXPECT_TRUE(std::filesystem::exists(RunDir() + "/checkpoints/10/facts"));
  EXPECT_EQ(Object("export/model.safetensors"), "weights at 10");
  config_["steps"] = 40;
  ASSERT_TRUE(Run().ok()) << log_;
  EXPECT_EQ(Kept(), (std::set<std::int64_t>{30, 40}));
  EXPECT_EQ(Object("export/model.safetensors"), "weights at 30");
}

TEST_F(BucketStageTest, PinThatAKillKeptFromTheBucketIsSentByTheNextRun) {
  config_["keep_best"] = true;
  config_["keep_checkpoints"] = 1;
  config_["restarts"] = 0;
  config_["config"]["losses"] = *Json::Parse(R"({"10": 3})");
  Done(1);
  for (const std::string& name : Everything())
    if (name.starts_with("home/run/checkpoints/10/") && name.ends_with(".json")) {
      Json marker = *Json::Parse(fake.Get(kFakeBucket, name));
      marker.Remove("pinned");
      fake.Put(kFakeBucket, name, marker.Dump());
    }
  config_["steps"] = 25;
  ASSERT_TRUE(Run().ok()) << log_;
  EXPECT_EQ(Kept(), (std::set<std::int64_t>{10, 25}));
}

TEST_F(BucketStageTest, ResultThatStoppedEarlyStandsOnEveryMachine) {
  config_["early_stop"]["patience"] = 2;
  config_["steps"] = 100;
  ASSERT_TRUE(Run().ok()) << log_;
  EXPECT_EQ(Newest(), 30);
  Elsewhere();
  const Result<JobOutput> again = Run();
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->facts["steps"].AsInt(), 30);
  EXPECT_EQ(events_["hello"], 0);
  config_["steps"] = 120;
  ASSERT_TRUE(Run().ok()) << log_;
  EXPECT_EQ(Newest(), 60);
}

TEST_F(BucketStageTest, AFinishedResultStaysUntilTheLongerOneIsThere) {
  Does(R"([{}, {"steps": 30, "then": "exit", "code": 65}, {}])");
  Done(1);
  withdrawn_.clear();
  const auto published = [this] {
    return Object("result.json") + Object("config.json") + Object("job.json");
  };
  const std::string first = published();
  config_["steps"] = 40;
  EXPECT_FALSE(Run().ok());
  EXPECT_EQ(published() + withdrawn_, first);
  EXPECT_EQ(Object("export/model.safetensors"), "weights at 20");
  Done(3);
  EXPECT_EQ(Object("export/model.safetensors"), "weights at 40");
  EXPECT_EQ(withdrawn_, "beside a result;");
  Elsewhere();
  for (const std::string& name : Everything())
    if (name.starts_with("home/run/checkpoints/")) fake.objects().Remove(kFakeBucket, name, std::nullopt, {});
  config_["steps"] = 60;
  Fails(Code::kFailedPrecondition, "has the finished model of 40 steps and no checkpoint", 0);
}

TEST_F(BucketStageTest, LocalCheckpointsStayWhereAFinishedModelLostThoseOfTheBucket) {
  Done(1);
  for (const std::string& name : Everything())
    if (name.starts_with("home/run/checkpoints/")) fake.objects().Remove(kFakeBucket, name, std::nullopt, {});
  config_["steps"] = 40;
  Fails(Code::kFailedPrecondition, "has the finished model of 20 steps and no checkpoint", 1);
  EXPECT_TRUE(std::filesystem::exists(RunDir() + "/checkpoints/20"));
  forced_ = true;
  Done(2);
  EXPECT_EQ(Object("export/model.safetensors"), "weights at 40");
}

TEST_F(BucketStageTest, AnotherExportTakesTheCheckpointsOfTheFinishedTraining) {
  config_["keep_best"] = true;
  config_["config"]["losses"] = *Json::Parse(R"({"10": 1})");
  run_ = "runs/train-00000000000000aa";
  Done(1);
  const std::string before = Object("job.json");
  EXPECT_EQ(Object("export/model.safetensors"), "weights at 10") << "the best";
  Elsewhere();
  config_["config"]["export"]["int8"] = true;
  run_ = "runs/train-00000000000000bb";
  Done(1);
  EXPECT_EQ(Object("export/model.safetensors"), "weights at 10");
  EXPECT_EQ(events_["step"], 0) << notes_;
  EXPECT_EQ(Kept(), (std::set<std::int64_t>{10, 20}));
  EXPECT_TRUE(Logged(
      "goes on from the checkpoint at step 20 of gs://bucket/home/runs/train-00000000000000aa, from which it "
      "differs in its export alone (config.export.int8: none -> true)"))
      << log_;
  config_["config"]["export"]["int8"] = false;
  config_["seed"] = 1;
  run_ = "runs/train-00000000000000cc";
  Done(1);
  EXPECT_GT(events_["step"], 0) << "another seed is another model";
}

TEST_F(BucketStageTest, EmptiedBucketMeansAnew) {
  Done(1);
  for (const std::string& name : Everything())
    if (name.starts_with("home/run/")) fake.objects().Remove(kFakeBucket, name, std::nullopt, {});
  ASSERT_TRUE(Run().ok()) << log_;
  EXPECT_TRUE(Logged("the training begins anew")) << log_;
  EXPECT_FALSE(Noted("goes on from"));
  EXPECT_EQ(Newest(), 20);
}

TEST_F(BucketStageTest, HalfACheckpointIsNeverUsed) {
  Done(1);
  const std::string half = "home/run/checkpoints/30/0123456789abcdef/facts";
  fake.Put(kFakeBucket, half, "30");
  CheckpointMarker lacking;
  lacking.step = 35;
  lacking.files = {{"facts", 2, Crc32c("35")}, {"state/d/weights", 100, 7}};
  fake.Put(kFakeBucket, StrCat("home/run/checkpoints/", lacking.Name().Marker()), lacking.Encode());
  fake.Put(kFakeBucket, StrCat("home/run/checkpoints/", lacking.Name().Path(), "/facts"), "35");
  Elsewhere();
  config_["keep_checkpoints"] = 1;
  GoesOnFrom(20, 40);
  EXPECT_TRUE(Logged("state/d/weights: is gone")) << log_;
  EXPECT_EQ(Kept(), std::set<std::int64_t>{40});
  EXPECT_EQ(fake.Get(kFakeBucket, half), "absent") << "what never became one goes with the old";
}

TEST_F(BucketStageTest, DamagedCheckpointIsPassedOver) {
  config_["checkpoint_every"] = 20;
  Done(1);
  config_["steps"] = 40;
  ASSERT_TRUE(Run().ok());
  ASSERT_EQ(Kept(), (std::set<std::int64_t>{20, 40}));
  for (const std::string& name : Everything())
    if (name.starts_with("home/run/checkpoints/40/") && name.ends_with("weights")) Damage(name, 50);
  Elsewhere();
  config_["steps"] = 60;
  ASSERT_TRUE(Run().ok()) << log_;
  EXPECT_TRUE(Noted("goes on from the checkpoint at step 20\n")) << notes_;
  EXPECT_TRUE(Logged("damaged, going back to the one before")) << log_;
}

TEST_F(BucketStageTest, FlippedByteOfAShardIsRefusedBeforeATrainerStarts) {
  Place();
  Damage("home/packed/train-00000-of-00001.tfrecord", 2500);
  Fails(Code::kDataLoss, "home/packed/train-00000-of-00001.tfrecord: has 5000 bytes of CRC-32C", 0);
  EXPECT_EQ(events_["hello"], 0);
}

TEST_F(BucketStageTest, StaleCopyOfAShardIsBroughtAgain) {
  Done(1);
  const Result<Json> job = Json::Parse(ReadFile(RunDir() + "/job.json"));
  const std::string shard = StrCat((*job)["data"]["dir"].AsString(), "/train-00000-of-00001.tfrecord");
  WriteFile(shard, std::string(5000, 'x'));
  GoesOnFrom(20, 40);
  EXPECT_EQ(ReadFile(shard), std::string(5000, 't'));
}

TEST_F(BucketStageTest, StopBringsTheLastCheckpointThereFirst) {
  Does(R"([{"steps": 1000000000}])");
  config_["steps"] = 1'000'000;
  stop_on_ = "eval";
  EXPECT_EQ(Run().status().code(), Code::kCancelled) << log_;
  EXPECT_EQ(events_["preempt"], 1);
  const std::int64_t reached = Newest();
  EXPECT_GE(reached, 10) << log_;
  EXPECT_TRUE(std::filesystem::exists(StrCat(RunDir(), "/checkpoints/", reached)));
  EXPECT_EQ(Object("result.json"), "absent");
  stop_on_.clear();
  Elsewhere();
  Does(R"([{}])");
  config_["steps"] = reached + 20;
  ASSERT_TRUE(Run().ok()) << log_;
  // What the trainer is told of its behaviour is part of a recipe in a real run; here the place is the same.
  EXPECT_TRUE(Noted(StrCat("goes on from the checkpoint at step ", reached, "\n"))) << notes_;
}

TEST_F(BucketStageTest, GraceThatIsTooShortLeavesItOnThisMachine) {
  Does(R"([{"steps": 1000000000}])");
  config_["steps"] = 1'000'000;
  config_["grace"] = 1;
  stop_on_ = "plan";
  for (int strikes = 0; strikes < 3; ++strikes)  // each file of the one checkpoint
    ASSERT_TRUE(fake.faults().Add("storage.objects.insert", "stall-for-2500ms-after-0K"));
  EXPECT_EQ(Run().status().code(), Code::kCancelled) << log_;
  EXPECT_TRUE(Logged("is on this machine alone, in")) << log_;
  EXPECT_TRUE(Logged("a run on another machine goes on from the beginning")) << log_;
  EXPECT_EQ(Newest(), -1);
  stop_on_.clear();
  Does(R"([{}])");
  config_["steps"] = 200;  // a busy machine stops it late
  ASSERT_TRUE(Run().ok()) << log_;
  EXPECT_TRUE(Noted("goes on from the checkpoint at step ")) << "this machine has it: " << notes_;
  EXPECT_EQ(Newest(), 200);
}

TEST_F(BucketStageTest, FaultyBucketChangesNothing) {
  fake.faults().Plan(20240501, 0.05);
  const Result<JobOutput> output = Run();
  ASSERT_TRUE(output.ok()) << output.status().message() << log_;
  fake.faults().Plan(1, 0);
  EXPECT_EQ(Newest(), 20);
  Elsewhere();
  fake.faults().Plan(20240502, 0.05);
  config_["steps"] = 40;
  ASSERT_TRUE(Run().ok()) << log_;
  fake.faults().Plan(1, 0);
  EXPECT_TRUE(Noted("goes on from the checkpoint at step 20\n")) << notes_;
  EXPECT_EQ(Newest(), 40);
}

TEST_F(BucketStageTest, BucketThatForbidsFailsTheStageAndKeepsWhatThereIs) {
  Does(R"([{"noise": []}])");
  config_["checkpoint_every"] = 20;
  Place();
  for (int objects = 0; objects < 2; ++objects)  // the job, then a file of the checkpoint
    ASSERT_TRUE(fake.faults().Add("storage.objects.insert", "return-403"));
  const Result<JobOutput> output = Run();
  ASSERT_FALSE(output.ok());
  EXPECT_EQ(output.status().code(), Code::kPermissionDenied) << output.status().message();
  EXPECT_TRUE(Logged("job.json: cannot be written, so `pipe eval --follow` does not find this training: "))
      << log_;
  EXPECT_TRUE(Logged("the checkpoint at step 20 is on this machine alone: ")) << log_;
  ASSERT_TRUE(Run().ok()) << log_;
  EXPECT_EQ(events_["hello"], 0) << "it was trained before";
  EXPECT_EQ(Newest(), 20);
}

/// As `pipe cp -r` copies a run from a disk to a bucket.
TEST_F(BucketStageTest, CheckpointsOfADiskInABucketAreTaken) {
  Does(R"([{"steps": 12, "then": "exit", "code": 64}])");
  EXPECT_FALSE(Run().ok());
  EXPECT_EQ(Newest(), 10) << log_;
  constexpr std::string_view kBelow = "home/run/checkpoints/";
  std::map<std::int64_t, std::string> lists;  // the trainer of this test writes none
  for (const std::string& name : Everything())
    if (const auto object = ParseCheckpointObject(name.substr(std::min(name.size(), kBelow.size())));
        name.starts_with(kBelow) && object && object->file.empty())
      lists[object->checkpoint.step] = fake.Get(kFakeBucket, name);
  for (const std::string& name : Everything())
    if (name.starts_with("home/run/")) fake.objects().Remove(kFakeBucket, name, std::nullopt, {});
  const std::filesystem::path disk = RunDir();
  for (const auto& file : std::filesystem::recursive_directory_iterator(disk))
    if (file.is_regular_file() && file.path().filename() != "bucket.json")
      fake.Put(kFakeBucket, StrCat("home/run/", file.path().lexically_relative(disk).string()),
               ReadFile(file.path()));
  for (const auto& [step, list] : lists) fake.Put(kFakeBucket, StrCat(kBelow, step, ".json"), list);
  Elsewhere();
  Does(R"([{}])");
  ASSERT_TRUE(Run().ok()) << log_;
  EXPECT_TRUE(Noted("goes on from the checkpoint at step 10\n")) << notes_;
  EXPECT_TRUE(Logged("the checkpoint at step 10 was copied to gs://")) << log_;
  EXPECT_EQ(Newest(), 20);
}

TEST_F(BucketStageTest, CheckpointsOfABucketOnADiskAreTaken) {
  Does(R"([{"steps": 12, "then": "exit", "code": 64}])");
  EXPECT_FALSE(Run().ok());
  const auto kept = Kept();
  for (const std::string& name : Everything()) {
    if (!name.starts_with("home/run/checkpoints/")) continue;
    const std::string path = root_ / name.substr(5);
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    WriteFile(path, fake.Get(kFakeBucket, name));
  }
  home_ = root_.path();
  Does(R"([{}])");
  ASSERT_TRUE(Run().ok()) << log_;
  EXPECT_TRUE(Noted("goes on from the checkpoint at step 10\n")) << notes_;
  for (const std::int64_t step : kept)
    EXPECT_TRUE(Logged(StrCat("the checkpoint at step ", step, " was copied here from a bucket"))) << log_;
}

}  // namespace
}  // namespace pipeline
