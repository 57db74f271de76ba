// The stage `train` through the door that every plugin has, with a trainer that does as it is told:
// fake_trainer.py.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/str.h"
#include "plugins/plugin_job.h"
#include "storage/local_store.h"
#include "storage/remote/open_store.h"
#include "tests/support/built_tree.h"
#include "tests/support/temp_dir.h"

namespace pipeline {

inline constexpr std::string_view kModel = "the bytes of a tokenizer";

/// Inputs, a run and an environment below a directory, or the first two elsewhere: `home_`.
class TrainStageTest : public testing::Test {
 protected:
  TrainStageTest() {
    namespace fs = std::filesystem;
    fs::create_directories(root_ / "packed");
    fs::create_directories(root_ / "tokenizer");
    fs::create_directories(root_ / "environment/bin");
    fs::create_symlink(StrCat(SourceDir(), "/tests/plugins/train/fake_trainer.py"),
                       root_ / "environment/bin/python");
    packed_["pipe_packed"] = 1;
    packed_["seq_len"] = 64;
    packed_["tokenizer"]["vocab_size"] = 400;
    packed_["tokenizer"]["model_digest"] = DigestOf(kModel).ToHex();
    for (const char* split : {"train", "validation"}) {
      packed_["splits"][split]["rows"] = 1000;
      packed_["splits"][split]["targets"] = 63000;
    }
    WriteFile(root_ / "tokenizer/tokenizer.model", kModel);
    WriteFile(
        root_ / "tokenizer/MANIFEST.json",
        R"({"recipe": "aa", "content": "bb", "facts": {"vocab_size": 400}, "lineage": [{"stage": "tokenizer"}]})");
    WriteFile(root_ / "packed/MANIFEST.json", R"({"recipe": "cc", "facts": {"rows": 1000}})");
    config_["trainer"] = "bundled";
    config_["config"] = Json(Json::Object{});
    config_["seed"] = 0;
    config_["steps"] = 20;
    config_["log_every"] = 2;
    config_["eval_every"] = 10;
    config_["checkpoint_every"] = 5;
    config_["keep_checkpoints"] = 3;
    config_["prompts"] = Json(Json::Array{Json("吾輩")});
    config_["export"] = true;
    config_["environment"] = root_ / "environment";
    config_["processes"] = 1;
    config_["restarts"] = 3;
    config_["grace"] = 1;
    config_["patience"] = 0.05;

    host_.open_store = [](const std::string& uri) { return OpenStore(uri); };
    host_.log = [this](Level, std::string_view line) {
      const std::scoped_lock lock(mutex_);
      log_ += StrCat(line, "\n");
    };
    host_.event = [this](std::string_view, const Json& event) { Hear(event); };
    PluginPlaces places;
    places.directories = {BuiltPlugins()};
    places.probe = {BuiltProgram(), "__probe-plugin"};
    loader_ = std::make_unique<PluginLoader>(std::move(places));
    stages_ = std::make_unique<PluginStages>(*loader_, host_);
    const Result<const StageType*> found = stages_->Find("train", "train");
    EXPECT_TRUE(found.ok()) << found.status().message();
    type_ = found.ok() ? *found : nullptr;
    // The named inputs here only look like artifacts; verified_input_test.cc has real ones.
    if (const auto plugin = loader_->Load("train"); plugin.ok())
      const_cast<PluginDescription&>((*plugin)->description()).verified_inputs.clear();
  }

  void Hear(const Json& event) {
    const std::scoped_lock lock(mutex_);
    const std::string kind(event["kind"].AsString());
    ++events_[kind];
    if (kind == "note") notes_ += StrCat(event["text"].AsString(), "\n");
    if (kind == stop_on_) stop_.request_stop();
  }

  /// What the trainer does at each attempt, as JSON: fake_trainer.py says what there is.
  void Does(std::string_view behaviours) {
    const Result<Json> parsed = Json::Parse(behaviours);
    ASSERT_TRUE(parsed.ok()) << behaviours;
    config_["config"]["fake"] = *parsed;
  }

  Result<JobOutput> Run() {
    WriteFile(StrCat(root_ / "packed/", info_), packed_.Dump());
    Place();
    log_.clear(), notes_.clear(), events_.clear();
    stop_ = std::stop_source();
    StageContext context;
    context.name = "train";
    context.config = config_;
    for (const auto& [port, place] : {std::pair("data", "packed"), std::pair("tokenizer", "tokenizer")}) {
      ArtifactInput input;
      input.uri = StrCat(home_, "/", place);
      Result<std::unique_ptr<Store>> store = host_.open_store(input.uri);
      EXPECT_TRUE(store.ok());
      input.directory = std::move(*store);
      context.artifacts.emplace(port, input);
    }
    const auto job = type_->job()->make(context);
    EXPECT_TRUE(job.ok());
    EXPECT_TRUE((*job)->Memory({}).ok());
    JobRequest request;
    const Result<std::unique_ptr<Store>> out = host_.open_store(StrCat(home_, "/", run_));
    EXPECT_TRUE(out.ok());
    std::map<std::string, std::string> versions;  // as a run has them: dag/run/job_unit.cc
    const auto there = (*out)->List("");
    EXPECT_TRUE(there.ok());
    for (const ObjectInfo& object : *there) versions.emplace(object.name, object.version);
    request.out = out->get();
    request.out_uri = StrCat(home_, "/", run_);
    request.kept = kept_;
    request.recipe = {0x0123456789abcdef, 1};
    request.position = position_;
    if (!position_.follows())
      request.condition = [&](const std::string& name) {
        const auto found = versions.find(name);
        return found == versions.end() ? Condition::CreateOnly() : Condition::Replace(found->second);
      };
    request.withdraw = [this]() -> Status {
      if (refuses_) return Status(Code::kFailedPrecondition, "another run holds the location");
      withdrawn_ += std::filesystem::exists(RunDir() + "/result.json") ? "beside a result;" : "alone;";
      return {};
    };
    request.forced = forced_;
    request.scratch = root_ / "scratch";
    request.memory_bytes = 1 << 30;
    request.threads = 2;
    request.progress = [this](std::uint64_t done, std::uint64_t of) { progress_ = StrCat(done, "/", of); };
    request.say = [this](std::string_view line) { said_.emplace_back(line); };
    request.stop = stop_.get_token();
    return (*job)->Run(request);
  }

  /// Brings the inputs to where `home_` says.
  virtual void Place() {}
  /// The directory that the trainer writes to.
  virtual std::string RunDir() const { return root_ / run_; }

  int Attempts() const {
    int attempts = 0;
    if (!std::filesystem::exists(RunDir() + "/logs")) return 0;
    for (const auto& file : std::filesystem::directory_iterator(RunDir() + "/logs"))
      if (file.path().string().ends_with(".log") && file.path().string().find("worker") == std::string::npos)
        ++attempts;
    return attempts;
  }

  void Done(int attempts) {
    const Result<JobOutput> output = Run();
    ASSERT_TRUE(output.ok()) << output.status().message() << "\n" << log_;
    EXPECT_EQ(output->facts["steps"].AsInt(), config_["steps"].AsInt());
    EXPECT_EQ(Attempts(), attempts) << log_;
  }

  void Fails(Code code, std::string_view why, int attempts) {
    const Result<JobOutput> output = Run();
    ASSERT_FALSE(output.ok());
    EXPECT_EQ(output.status().code(), code) << output.status().message();
    EXPECT_NE(output.status().message().find(why), std::string_view::npos) << output.status().message();
    EXPECT_EQ(Attempts(), attempts) << log_;
  }

  bool Logged(std::string_view what) const { return log_.find(what) != std::string::npos; }

  TempDir root_;
  Json packed_, config_;
  std::string info_ = "packed.json";  // the file that has `packed_`
  std::string home_ = root_.path();
  std::string run_ = "run";  // the location of the training below it
  std::string kept_ = root_ / "kept";
  JobPosition position_;
  bool forced_ = false;    // by --force
  bool refuses_ = false;   // the finished artifact cannot be withdrawn
  std::string withdrawn_;  // when the stage withdrew the finished artifact
  PluginHost host_;
  std::unique_ptr<PluginLoader> loader_;
  std::unique_ptr<PluginStages> stages_;
  const StageType* type_ = nullptr;
  std::stop_source stop_;
  std::string stop_on_;  // kind of the event at which the run stops
  std::mutex mutex_;
  std::string log_, notes_, progress_;
  std::vector<std::string> said_;
  std::map<std::string, int> events_;  // by kind
};

}  // namespace pipeline
