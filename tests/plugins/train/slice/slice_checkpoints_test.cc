#include "plugins/train/slice/slice_checkpoints.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <thread>

#include "base/crc32c.h"
#include "base/str.h"
#include "storage/memory_store.h"
#include "tests/plugins/train/storage_call.h"
#include "tests/support/fault_store.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

using Files = std::map<std::string, std::string>;

template <class Condition>
bool Soon(const Condition& condition) {
  for (int look = 0; look < 1500 && !condition(); ++look)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return condition();
}

constexpr std::int64_t kAttempt = 9;

/// One host with a disk of its own; the bucket is the test's.
class Host {
 public:
  Host(Store& bucket, const std::string& disk, int host, int hosts, std::string run = "gs://bkt/run")
      : disk_(disk), call_(bucket, [this](Level, std::string_view) { ++lines_; }), host_call_(call_.call()) {
    job_.run_uri = std::move(run);
    job_.position.host = host;
    job_.position.hosts = hosts;
    job_.settings["keep_checkpoints"] = 2;
    Result<RunDirectory> opened = RunDirectory::Open(disk);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    directory_ = std::make_unique<RunDirectory>(std::move(*opened));
    checkpoints_ = std::make_unique<SliceCheckpoints>(job_, host_call_, *directory_);
  }

  /// As the trainer commits it: `own` is the part of this host, `copies` belong to another one.
  void Commit(std::int64_t step, std::int64_t attempt, const Files& own, const Files& copies = {}) {
    Json json;
    json["pipe_checkpoint"] = 2;
    json["step"] = step;
    json["attempt"] = attempt;
    json["host"] = job_.position.host;
    json["hosts"] = job_.position.hosts;
    json["files"] = FilesToJson(Put(step, own));
    json["copies"] = FilesToJson(Put(step, copies));
    EXPECT_TRUE(directory_->Write(StrCat("checkpoints/", step, ".json"), json).ok());
    checkpoints_->Look();
  }
  std::string Read(std::int64_t step, const std::string& name) const {
    const std::string path = StrCat(disk_, "/checkpoints/", step, "/", name);
    return std::filesystem::exists(path) ? ReadFile(path) : std::string("absent");
  }
  Json Answer(std::int64_t step, std::vector<std::string> names) {
    Json need;
    need["id"] = "1-0-1";
    need["attempt"] = kAttempt;
    need["step"] = step;
    for (const std::string& name : names) need["files"].Append(name);
    checkpoints_->Answer(need);
    EXPECT_TRUE(Soon([&] { return directory_->Read("answers/1-0-1.json").is_object(); }));
    const Json answer = directory_->Read("answers/1-0-1.json");
    EXPECT_TRUE(directory_->Remove("answers/1-0-1.json").ok());
    return answer;
  }
  Status Bring(std::int64_t step, bool local) {
    AttemptRecord attempt;
    attempt.number = kAttempt;
    attempt.step = step;
    attempt.local = local;
    return checkpoints_->Bring(attempt, [] { return false; });
  }
  /// Lines that it told people.
  int lines() const { return lines_; }
  SliceCheckpoints& operator*() { return *checkpoints_; }
  SliceCheckpoints* operator->() { return checkpoints_.get(); }

 private:
  std::vector<FileFacts> Put(std::int64_t step, const Files& files) {
    std::vector<FileFacts> facts;
    for (const auto& [name, bytes] : files) {
      const std::filesystem::path path = StrCat(disk_, "/checkpoints/", step, "/", name);
      std::filesystem::create_directories(path.parent_path());
      WriteFile(path, bytes);
      facts.push_back({name, bytes.size(), Crc32c(bytes)});
    }
    return facts;
  }

  const std::string disk_;
  std::atomic<int> lines_ = 0;
  StorageCall call_;
  PluginServices host_call_;
  TrainJob job_;
  std::unique_ptr<RunDirectory> directory_;
  std::unique_ptr<SliceCheckpoints> checkpoints_;
};

class SliceCheckpointsTest : public testing::Test {
 protected:
  std::string Disk(const std::string& name) const { return StrCat(root_.path().string(), "/", name); }
  void CommitOnBoth(Host& first, Host& second, std::int64_t step, std::int64_t attempt) {
    first.Commit(
        step, attempt,
        {{"facts/metadata", "facts"}, {"state/a/.zarray", "head"}, {"state/a/0", StrCat("zero", step)}});
    second.Commit(step, attempt, {{"state/a/1", StrCat("one", step)}}, {{"facts/metadata", "facts"}});
  }
  std::vector<std::string> Names(const std::string& below) {
    const auto listed = store_.List("run/checkpoints/" + below);
    std::vector<std::string> names;
    for (const ObjectInfo& object : *listed) names.push_back(object.name.substr(16));
    return names;
  }

  TempDir root_;
  MemoryStore store_;
};

const LocalCheckpoint kSend{.step = 20, .attempt = 3, .part = {}};

TEST_F(SliceCheckpointsTest, AMarkerFollowsTheLastPart) {
  Host first(store_, Disk("0"), 0, 2), second(store_, Disk("1"), 1, 2);
  CommitOnBoth(first, second, 20, 3);
  ASSERT_EQ(first->Local().size(), 1u);
  EXPECT_EQ(first->Local()[0].attempt, 3);
  first->Send(kSend);
  EXPECT_TRUE(Soon([&] { return store_.Stat("run/checkpoints/20/00003-0.json")->has_value(); }));
  std::this_thread::sleep_for(std::chrono::milliseconds(2500));  // the leader has looked
  EXPECT_EQ(first->newest_marker(), -1) << "a part is missing";
  second->Send(kSend);
  EXPECT_TRUE(Soon([&] { return first->newest_marker() == 20; }));
  Host other(store_, Disk("2"), 0, 2);
  EXPECT_EQ(*other->FindNewestMarker(), 20);
}

TEST_F(SliceCheckpointsTest, ARestoringHostFetchesOnlyTheChunksThatItNeeds) {
  {
    Host first(store_, Disk("0"), 0, 2), second(store_, Disk("1"), 1, 2);
    CommitOnBoth(first, second, 20, 3);
    first->Send(kSend);
    second->Send(kSend);
    ASSERT_TRUE(Soon([&] { return first->newest_marker() == 20; }));
  }
  Host fresh(store_, Disk("fresh"), 1, 2);
  const Status brought = fresh.Bring(20, false);
  ASSERT_TRUE(brought.ok()) << brought.message();
  EXPECT_EQ(fresh.Read(20, "facts/metadata"), "facts");
  EXPECT_EQ(fresh.Read(20, "state/a/.zarray"), "head");
  EXPECT_EQ(fresh.Read(20, "state/a/1"), "absent");
  EXPECT_EQ(fresh->fetched(), 9u);
  EXPECT_TRUE(fresh->Local().empty()) << "it has no part of its own making";
  EXPECT_FALSE(fresh.Answer(20, {"state/a/1"}).Has("error"));
  EXPECT_EQ(fresh.Read(20, "state/a/1"), "one20");
  EXPECT_EQ(fresh.Read(20, "state/a/0"), "absent");
  EXPECT_EQ(fresh->fetched(), 14u);
  EXPECT_TRUE(fresh.Answer(20, {"state/a/2"}).Has("error")) << "there is no such file";
}

TEST_F(SliceCheckpointsTest, ADamagedObjectEndsTheCheckpointForAllHosts) {
  {
    Host first(store_, Disk("0"), 0, 2), second(store_, Disk("1"), 1, 2);
    CommitOnBoth(first, second, 20, 3);
    first->Send(kSend);
    second->Send(kSend);
    ASSERT_TRUE(Soon([&] { return first->newest_marker() == 20; }));
  }
  for (const std::string& name : Names("20/"))
    if (name.ends_with("state/a/1")) {
      ASSERT_TRUE(WriteObject(store_, "run/checkpoints/" + name, "onE20", Condition::ReplaceAny()).ok());
    }
  Host fresh(store_, Disk("fresh"), 1, 2);
  ASSERT_TRUE(fresh.Bring(20, false).ok());
  EXPECT_EQ(fresh.Answer(20, {"state/a/1"})["code"].AsInt(), 75);
  Host leader(store_, Disk("leader"), 0, 2);
  EXPECT_EQ(leader->FindNewestMarker().status().code(), Code::kDataLoss) << "nothing begins anew by itself";
}

TEST_F(SliceCheckpointsTest, ALeaderTakesAnOlderMarkerAfterAnAttemptThatFoundDamage) {
  Host first(store_, Disk("0"), 0, 2), second(store_, Disk("1"), 1, 2);
  for (const std::int64_t step : {20, 40}) {
    CommitOnBoth(first, second, step, 3);
    const LocalCheckpoint send{.step = step, .attempt = 3, .part = {}};
    first->Send(send);
    second->Send(send);
    ASSERT_TRUE(Soon([&] { return first->newest_marker() == step; }));
  }
  EXPECT_EQ(*first->FindNewestMarker(), 40);
  for (const std::string& name : Names("40/"))
    if (name.ends_with("state/a/1")) {
      ASSERT_TRUE(WriteObject(store_, "run/checkpoints/" + name, "onE40", Condition::ReplaceAny()).ok());
    }
  Host fresh(store_, Disk("fresh"), 1, 2);
  ASSERT_TRUE(fresh.Bring(40, false).ok());
  EXPECT_TRUE(fresh.Answer(40, {"state/a/1"}).Has("error"));
  EXPECT_EQ(*first->FindNewestMarker(), 40) << "asked once for each attempt";
  first->AttemptEnded();
  EXPECT_EQ(*first->FindNewestMarker(), 20);
}

TEST_F(SliceCheckpointsTest, ChunksThatAnAttemptFetchedServeTheNextOne) {
  Host first(store_, Disk("0"), 0, 2), second(store_, Disk("1"), 1, 2);
  CommitOnBoth(first, second, 20, 3);
  first->Send(kSend);
  second->Send(kSend);
  ASSERT_TRUE(Soon([&] { return first->newest_marker() == 20; }));
  Host fresh(store_, Disk("fresh"), 1, 2);
  ASSERT_TRUE(fresh.Bring(20, false).ok());
  EXPECT_FALSE(fresh.Answer(20, {"state/a/1"}).Has("error"));
  const std::uint64_t fetched = fresh->fetched();
  ASSERT_TRUE(fresh.Bring(20, false).ok());
  EXPECT_EQ(fresh.Read(20, "state/a/1"), "one20");
  EXPECT_EQ(fresh->fetched(), fetched);
}

/// A run of the version before goes on.
TEST_F(SliceCheckpointsTest, ACheckpointOfASingleHostIsRestoredByAllAndReplaced) {
  const Files files = {{"facts/metadata", "facts"}, {"state/_METADATA", "tree"}, {"state/d/0123", "arrays"}};
  CheckpointMarker marker;
  marker.step = 20;
  for (const auto& [name, bytes] : files) {
    std::filesystem::create_directories((root_.path() / "made" / name).parent_path());
    WriteFile(root_.path() / "made" / name, bytes);
    marker.files.push_back({name, bytes.size(), Crc32c(bytes)});
  }
  StorageCall call(store_);
  const PluginStorage& storage = call.storage();
  ASSERT_TRUE(BucketCheckpoints("gs://bkt/run/checkpoints", 2, storage)
                  .Commit(marker, (root_.path() / "made").string(), [] { return false; })
                  .ok());

  Host first(store_, Disk("0"), 0, 2), second(store_, Disk("1"), 1, 2);
  EXPECT_EQ(*first->FindNewestMarker(), 20);
  for (Host* const host : {&first, &second}) {
    const Status brought = host->Bring(20, false);
    ASSERT_TRUE(brought.ok()) << brought.message();
    for (const auto& [name, bytes] : files)
      EXPECT_EQ(host->Read(20, name), bytes) << "nothing asks for it later";
    EXPECT_TRUE((*host)->Local().empty()) << "it is no part";
  }
  const auto list = Json::Parse(ReadFile(Disk("1") + "/checkpoints/20.json"));
  EXPECT_EQ((*list)["pipe_checkpoint"].AsInt(), 1);
  EXPECT_FALSE(list->Has("fetched"));
  const auto send = [&](std::int64_t step) {
    CommitOnBoth(first, second, step, kAttempt);
    const LocalCheckpoint wanted{.step = step, .attempt = kAttempt, .part = {}};
    first->Send(wanted), second->Send(wanted);
    return Soon([&] { return first->newest_marker() == step; });
  };
  ASSERT_TRUE(send(40));
  EXPECT_FALSE(Names("20/").empty()) << "the running attempt has restored it";
  ASSERT_TRUE(first.Bring(40, true).ok()) << "the next attempt";
  ASSERT_TRUE(send(60));
  EXPECT_TRUE(Soon([&] { return Names("20/").empty(); }));
}

/// A run directory that all hosts see, in which one host trained with the version before.
class SharedDirectoryTest : public SliceCheckpointsTest {
 protected:
  std::string Arrays(std::int64_t step) const { return StrCat(run_, "/checkpoints/", step, "/state/d"); }
  void LeaveOne(std::int64_t step, std::string_view words) {
    const std::string bytes = StrCat("arrays of ", step);
    std::filesystem::create_directories(std::filesystem::path(Arrays(step)).parent_path());
    WriteFile(Arrays(step), bytes);
    if (words == "no list") return;
    Json list;
    list["pipe_checkpoint"] = 1;
    list["step"] = step;
    if (words == "pinned") list["pinned"].Append("best");
    list["files"] = FilesToJson({{"state/d", bytes.size(), Crc32c(bytes)}});
    if (words == "unfinished") list["unfinished"] = true;
    WriteFile(StrCat(run_, "/checkpoints/", step, ".json"), list.Dump());
  }

  const std::string run_ = Disk("out/runs/train-1");
};

TEST_F(SharedDirectoryTest, TheCheckpointsOfASingleHostCount) {
  LeaveOne(10, ""), LeaveOne(20, "pinned"), LeaveOne(30, ""), LeaveOne(40, "unfinished");
  Host first(store_, Disk("0"), 0, 2, run_), second(store_, Disk("1"), 1, 2, run_);
  EXPECT_EQ(*first->FindNewestMarker(), 30) << "it would begin anew";
  const Status brought = second.Bring(30, false);
  ASSERT_TRUE(brought.ok()) << brought.message();
  EXPECT_EQ(second.Read(30, "state/d"), "arrays of 30");
  EXPECT_EQ(second.Read(20, "state/d"), "arrays of 20") << "it is pinned";
  EXPECT_EQ(second.Read(10, "state/d"), "absent");
}

TEST_F(SharedDirectoryTest, ACopyThatAKillInterruptedIsContinuedAndLaterOnesAreNone) {
  LeaveOne(20, "pinned");
  {
    Host leader(store_, Disk("0"), 0, 2, run_);
    EXPECT_EQ(*leader->FindNewestMarker(), 20);
  }
  LeaveOne(30, "");  // as if it had not been copied yet
  {
    Host leader(store_, Disk("0"), 0, 2, run_);
    EXPECT_EQ(*leader->FindNewestMarker(), 30);
  }
  std::filesystem::create_directories(run_ + "/attempts");
  WriteFile(run_ + "/attempts/00001.json", "{}");
  LeaveOne(50, "");
  Host leader(store_, Disk("0"), 0, 2, run_);
  EXPECT_EQ(*leader->FindNewestMarker(), 30) << "several hosts train here now";
}

TEST_F(SharedDirectoryTest, ADamagedOneIsPassedOver) {
  LeaveOne(20, ""), LeaveOne(30, "");
  std::filesystem::remove(Arrays(30));
  Host leader(store_, Disk("0"), 0, 2, run_);
  EXPECT_EQ(*leader->FindNewestMarker(), 20);
}

TEST_F(SharedDirectoryTest, IfNoneCanBeReadNothingBeginsAnew) {
  LeaveOne(20, "no list");
  Host leader(store_, Disk("0"), 0, 2, run_);
  EXPECT_EQ(leader->FindNewestMarker().status().code(), Code::kDataLoss);
  EXPECT_NE(leader->FindNewestMarker().status().message().find("hosts: 1"), std::string::npos);
  LeaveOne(30, "");
  std::filesystem::remove(Arrays(30));
  EXPECT_EQ(leader->FindNewestMarker().status().code(), Code::kDataLoss);
}

TEST_F(SliceCheckpointsTest, APartIsSentOnceAndACopyNever) {
  Host first(store_, Disk("0"), 0, 2), second(store_, Disk("1"), 1, 2);
  CommitOnBoth(first, second, 20, 3);
  second->Send(kSend);
  EXPECT_TRUE(Soon([&] { return store_.Stat("run/checkpoints/20/00003-1.json")->has_value(); }));
  std::vector<std::string> sent = Names("20/");
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_TRUE(sent[1].ends_with("/state/a/1")) << sent[1];
}

TEST_F(SliceCheckpointsTest, APartOfAnotherAttemptIsNotSent) {
  Host second(store_, Disk("1"), 1, 2);
  second.Commit(20, 4, {{"state/a/1", "one"}});
  second->Send(kSend);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_TRUE(Names("").empty());
  EXPECT_EQ(second.lines(), 0);
}

TEST_F(SliceCheckpointsTest, AHostOnANewDiskSaysNothingAboutAPartThatItNeverHad) {
  Host second(store_, Disk("1"), 1, 2);
  second->Send(kSend);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_TRUE(Names("").empty());
  EXPECT_EQ(second.lines(), 0);
}

TEST_F(SliceCheckpointsTest, ALocalAttemptNeedsTheOwnPart) {
  Host second(store_, Disk("1"), 1, 2);
  EXPECT_EQ(second.Bring(20, true).code(), Code::kUnavailable);
  second.Commit(20, 3, {{"state/a/1", "one"}});
  EXPECT_TRUE(second.Bring(20, true).ok());
  EXPECT_TRUE(second.Bring(-1, false).ok()) << "nothing is restored";
  EXPECT_EQ(second.Bring(40, false).code(), Code::kNotFound);
}

}  // namespace
}  // namespace pipeline
