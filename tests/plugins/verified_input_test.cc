// `verify` of a named input: what stands there is held against its manifest before the job begins.
#include "plugins/verified_input.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "base/str.h"
#include "plugins/plugin_job.h"
#include "storage/local_store.h"
#include "storage/remote/open_store.h"
#include "tests/plugins/compiled_plugin.h"
#include "tests/stages/export/packed/packed_artifact.h"
#include "tests/support/built_tree.h"

namespace pipeline {
namespace {

/// The plugin that greets, with a named input that is verified, and packed rows there.
class VerifiedInputTest : public testing::Test {
 protected:
  VerifiedInputTest() : manifest_(PublishPacked(place_)) {
    host_.open_store = [](const std::string& uri) { return OpenStore(uri); };
    host_.note = [this](std::string_view, std::string_view text) { notes_ += StrCat(text, "\n"); };
    std::string source = PluginSource("hello/hello.c");
    const std::string named_input = R"({\"name\": \"data\",)";
    source.replace(source.find(named_input), named_input.size(), named_input + R"( \"verify\": true,)");
    CompilePlugin(dir_, "hello", source);
    PluginPlaces places;
    places.directories = {dir_.path().string()};
    places.probe = {BuiltProgram(), "__probe-plugin"};
    loader_ = std::make_unique<PluginLoader>(std::move(places));
    stages_ = std::make_unique<PluginStages>(*loader_, host_);
  }

  Status Run() {
    notes_.clear(), said_.clear();
    const Result<const StageType*> type = stages_->Find("hello", "greet");
    RETURN_IF_ERROR(type.status());
    StageContext context;
    context.name = "greeting";
    context.config["greeting"] = "hi";
    context.config["times"] = 1;
    ArtifactInput data;
    data.uri = place_;
    data.directory = std::make_shared<LocalStore>(place_);
    context.artifacts.emplace("data", data);
    const auto job = (*type)->job()->make(context);
    JobRequest request;
    LocalStore out(dir_ / "made");
    request.out = &out;
    request.out_uri = dir_ / "made";
    request.condition = [](const std::string&) { return Condition::ReplaceAny(); };
    request.scratch = dir_ / "scratch";
    request.threads = 2;
    request.say = [this](std::string_view line) { said_ += StrCat(line, "\n"); };
    request.stop = stop_.get_token();
    return (*job)->Run(request).status();
  }

  bool Greeted() const { return std::filesystem::exists(dir_ / "made/greeting.txt"); }

  const TempDir dir_;
  const std::string place_ = dir_ / "packed";
  const Manifest manifest_;
  PluginHost host_;
  std::unique_ptr<PluginLoader> loader_;
  std::unique_ptr<PluginStages> stages_;
  std::stop_source stop_;
  std::string notes_, said_;
};

TEST_F(VerifiedInputTest, IsReadOnce) {
  const Status first = Run();
  ASSERT_TRUE(first.ok()) << first.message();
  EXPECT_TRUE(notes_.starts_with("`data`: verified 10 of 10 objects, ")) << notes_;
  EXPECT_NE(said_.find("verifying `data`: "), std::string::npos) << said_;
  ASSERT_TRUE(Run().ok());
  EXPECT_TRUE(notes_.starts_with("`data`: all 10 objects were verified before\n")) << notes_;
  EXPECT_EQ(said_.find("verifying"), std::string::npos) << said_;
}

TEST_F(VerifiedInputTest, DamageFailsTheStageBeforeTheJobBegins) {
  ASSERT_TRUE(Run().ok());
  std::filesystem::remove_all(dir_ / "made");
  const std::string shard = manifest_.shards.front().object.name, good = ReadFile(place_ + "/" + shard);
  std::string bad = good;
  bad.back() = static_cast<char>(bad.back() ^ 1);
  WriteFile(place_ + "/" + shard, bad);
  const Status status = Run();
  EXPECT_EQ(status.code(), Code::kDataLoss);
  EXPECT_TRUE(status.message().starts_with(
      StrCat("the artifact at `data` is not as it must be: ", place_, "/", shard, ": record ")))
      << status.message();
  EXPECT_NE(
      status.message().find("`pipe run FILE --force packed` makes the artifact again; 1 more finding, which "
                            "`pipe verify " +
                            place_ + "` shows"),
      std::string::npos)
      << status.message();
  EXPECT_FALSE(Greeted());

  WriteFile(place_ + "/" + shard, good);
  ASSERT_TRUE(Run().ok());
  EXPECT_TRUE(notes_.starts_with("`data`: verified 1 of 10 objects, ")) << notes_;
  EXPECT_TRUE(Greeted());
}

TEST_F(VerifiedInputTest, WhatBelongsToNobodyIsNoReasonToFail) {
  WriteFile(place_ + "/notes.txt", "mine");
  EXPECT_TRUE(Run().ok());
}

TEST_F(VerifiedInputTest, WithoutAPlaceForTheRecordItIsReadEachTime) {
  WriteFile(place_ + "/.pipe", "a file where the directory should be");
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(Run().ok());
    EXPECT_TRUE(notes_.starts_with(
        "`data`: the list of verified objects cannot be written, and all are read again next time: "))
        << notes_;
    EXPECT_NE(notes_.find("`data`: verified 10 of 10 objects"), std::string::npos) << notes_;
  }
}

TEST_F(VerifiedInputTest, StopIsHeard) {
  stop_.request_stop();
  EXPECT_EQ(Run().code(), Code::kCancelled);
  EXPECT_FALSE(Greeted());
}

TEST_F(VerifiedInputTest, WithoutAManifestThereIsNothingToHoldItAgainst) {
  std::filesystem::remove(place_ + "/MANIFEST.json");
  EXPECT_EQ(Run().code(), Code::kNotFound);
  EXPECT_FALSE(Greeted());
}

}  // namespace
}  // namespace pipeline
