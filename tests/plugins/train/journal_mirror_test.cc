#include "plugins/train/journal_mirror.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "base/str.h"
#include "formats/tfrecord.h"
#include "storage/local_store.h"
#include "tests/plugins/train/storage_call.h"
#include "tests/support/fault_store.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

namespace fs = std::filesystem;

class JournalMirrorTest : public testing::Test {
 protected:
  struct Machine {
    explicit Machine(const std::string& path) : directory(RunDirectory::Open(path).value()) {}
    RunDirectory directory;
    void Append(const std::string& name, std::string_view bytes) const {
      const fs::path path = directory.Path(name);
      fs::create_directories(path.parent_path());
      std::ofstream(path, std::ios::app | std::ios::binary) << bytes;
    }
  };
  std::unique_ptr<JournalMirror> Mirror(const Machine& machine) {
    auto mirror =
        std::make_unique<JournalMirror>(machine.directory, "gs://bkt/run", "tensorboard", call_.call());
    const Status begun = mirror->Begin();
    EXPECT_TRUE(begun.ok()) << begun.message();
    return mirror;
  }
  /// The objects below a folder of the run, in the order of their names.
  std::string Together(const std::string& folder) {
    std::string bytes;
    const Result<std::vector<ObjectInfo>> objects = store_.List("run/" + folder);
    for (const ObjectInfo& object : *objects) bytes += ReadFile(StrCat(root_ / "bucket/", object.name));
    return bytes;
  }
  static std::string Frame(std::string_view record) {
    std::string frame;
    AppendTfRecord(frame, record);
    return frame;
  }

  TempDir root_;
  LocalStore store_{root_ / "bucket"};
  FaultStore failing_{store_};
  std::string log_;
  StorageCall call_{failing_, [this](Level, std::string_view line) { log_ += StrCat(line, "\n"); }};
};

TEST_F(JournalMirrorTest, SegmentsTogetherAreTheFiles) {
  const Machine machine(root_ / "run");
  auto mirror = Mirror(machine);
  machine.Append("events.jsonl", "{\"step\":1}\n{\"st");
  machine.Append("logs/attempt-1.log", "one");
  const std::string second = Frame("second");
  machine.Append("tensorboard/x.tfevents.1", Frame("version") + Frame("first") + second.substr(0, 9));
  mirror->Send();
  mirror->Send();  // nothing is new
  EXPECT_EQ(Together("events"), "{\"step\":1}\n");
  machine.Append("events.jsonl", "ep\":2}\n");
  machine.Append("logs/attempt-1.log", " two");
  machine.Append("tensorboard/x.tfevents.1", second.substr(9));
  machine.Append("tensorboard/x.tfevents.2", Frame("version") + Frame("third"));
  machine.Append("tensorboard/below/y.tfevents", Frame("version") + Frame("other"));
  mirror.reset();
  EXPECT_EQ(Together("events"), "{\"step\":1}\n{\"step\":2}\n");
  EXPECT_EQ(Together("logs"), "one two");
  EXPECT_EQ(Together("tensorboard/events"), Frame("version") + Frame("first") + Frame("version") + second +
                                                Frame("version") + Frame("third"));
  EXPECT_EQ(Together("tensorboard/below"), Frame("version") + Frame("other"));
  EXPECT_EQ(store_.List("run/events")->size(), 2u);
  EXPECT_TRUE(fs::exists(root_ / "bucket/run/tensorboard/events.out.tfevents.0000000002"));
  EXPECT_EQ(log_, "");
}

TEST_F(JournalMirrorTest, NothingIsLostOrSentTwiceAfterAFailureOrAKill) {
  for (int writes = 0; writes < 5; ++writes)
    for (const bool killed : {false, true}) {
      fs::remove_all(root_ / "bucket"), fs::remove_all(root_ / "run");
      const Machine machine(root_ / "run");
      auto mirror = Mirror(machine);
      std::string all;
      for (int step = 0; step < 4; ++step) {
        const std::string line = StrCat("{\"step\":", step, "}\n");
        all += line;
        machine.Append("events.jsonl", line);
        machine.Append("logs/attempt-1.log", line);
        if (step == 1) failing_.CutPowerAt(FaultStore::Call::kCreate, writes + 1);
        mirror->Send();
        if (step == 2 && killed) mirror->Leave(), mirror.reset();
        if (step == 2) failing_.RestorePower();
        if (!mirror) mirror = Mirror(machine);
      }
      mirror.reset();
      EXPECT_EQ(Together("events"), all) << writes << killed;
      EXPECT_EQ(Together("logs"), all) << writes << killed;
      EXPECT_EQ(log_.find("the newest events, curves and logs are on this machine alone"),
                writes < 4 ? 0u : log_.npos);
      log_.clear();
    }
}

TEST_F(JournalMirrorTest, ATraceGoesWholeAndOnceWhenItsProgramHasWrittenIt) {
  const Machine machine(root_ / "run");
  const std::string first = "tensorboard/plugins/profile/attempt-1-step-3/host.xplane.pb";
  const std::string second = "tensorboard/below/plugins/profile/other/host.trace.json.gz";
  auto mirror = Mirror(machine);
  machine.Append(first, "first");
  mirror->Send();
  mirror->Send(JournalMirror::Traces::kSettled);
  EXPECT_FALSE(fs::exists(StrCat(root_ / "bucket/run/", first)));
  fs::last_write_time(machine.directory.Path(first),
                      fs::file_time_type::clock::now() - std::chrono::minutes(1));
  mirror->Send();
  EXPECT_FALSE(fs::exists(StrCat(root_ / "bucket/run/", first)));
  mirror->Send(JournalMirror::Traces::kSettled);
  EXPECT_EQ(ReadFile(StrCat(root_ / "bucket/run/", first)), "first");
  machine.Append(second, "second");
  mirror.reset();
  EXPECT_EQ(ReadFile(StrCat(root_ / "bucket/run/", second)), "second");
  for (const bool knows : {true, false}) {
    if (!knows) fs::remove(machine.directory.Path("journal.json"));  // as a kill behind the upload leaves it
    Mirror(machine).reset();
    EXPECT_EQ(store_.List("run/tensorboard")->size(), 2u);
    EXPECT_EQ(log_, "");
  }
}

TEST_F(JournalMirrorTest, AnotherMachineGoesOnWithTheEvents) {
  const Machine first(root_ / "run"), second(root_ / "other");
  auto mirror = Mirror(first);
  first.Append("events.jsonl", "{\"attempt\":1,\"step\":1}\n");
  mirror->Send();
  mirror.reset();
  first.Append("events.jsonl", "{\"attempt\":1,\"step\":2}\n");  // the bucket never got it
  second.Append("logs/attempt-1.log", "of before");
  mirror = Mirror(second);
  EXPECT_EQ(ReadFile(second.directory.Path("events.jsonl")), "{\"attempt\":1,\"step\":1}\n");
  EXPECT_EQ(second.directory.NextAttempt(), 2);
  second.Append("events.jsonl", "{\"attempt\":2,\"step\":2}\n");
  mirror.reset();
  EXPECT_EQ(Together("events"), "{\"attempt\":1,\"step\":1}\n{\"attempt\":2,\"step\":2}\n");
  EXPECT_EQ(Together("logs"), "");
  mirror = Mirror(first);
  EXPECT_EQ(ReadFile(first.directory.Path("events.jsonl")), Together("events"));
  mirror.reset();
  EXPECT_EQ(store_.List("run/events")->size(), 2u);
}

}  // namespace
}  // namespace pipeline
