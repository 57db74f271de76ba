#include "plugins/train/bucket_checkpoints.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/crc32c.h"
#include "base/str.h"
#include "plugins/train/checkpoint_marker.h"
#include "plugins/train/fetch_files.h"
#include "storage/memory_store.h"
#include "tests/plugins/train/storage_call.h"
#include "tests/support/fault_store.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

using Call = FaultStore::Call;

bool Never() { return false; }

class BucketCheckpointsTest : public testing::Test {
 protected:
  /// A checkpoint of some files in a directory of its own.
  CheckpointMarker Make(std::int64_t step, std::vector<std::string> pinned = {}) {
    CheckpointMarker marker;
    marker.step = step;
    marker.pinned = std::move(pinned);
    for (const auto& [name, bytes] : {std::pair("facts", StrCat(step)), std::pair("state/a", std::string()),
                                      std::pair("state/d/b", std::string(3000, static_cast<char>(step)))}) {
      const std::filesystem::path path = std::filesystem::path(Local(step)) / name;
      std::filesystem::create_directories(path.parent_path());
      WriteFile(path, bytes);
      marker.files.push_back({name, bytes.size(), Crc32c(bytes)});
    }
    return marker;
  }
  std::string Local(std::int64_t step) const { return StrCat(local_.path().string(), "/", step); }

  Status Keep(std::int64_t step, std::int64_t keep = 2, std::vector<std::string> pinned = {}) {
    StorageCall call(faulty_);
    const PluginStorage& storage = call.storage();
    BucketCheckpoints checkpoints("gs://bkt/run/checkpoints", keep, storage);
    RETURN_IF_ERROR(checkpoints.Commit(Make(step, std::move(pinned)), Local(step), Never));
    return checkpoints.Prune();
  }

  /// "STEP: PIN PIN; …" of what has a marker, each of which is whole.
  std::string Kept() {
    (void)Newest();
    StorageCall call(faulty_);
    const PluginStorage& storage = call.storage();
    BucketCheckpoints checkpoints("gs://bkt/run/checkpoints", 2, storage);
    const auto committed = checkpoints.Committed();
    std::string kept;
    for (auto name = committed->rbegin(); name != committed->rend(); ++name) {
      const auto pins = checkpoints.PinsOf(*name);
      kept += StrCat(kept.empty() ? "" : "; ", name->step, ":");
      for (const std::string& pin : *pins) kept += " " + pin;
    }
    return kept;
  }
  Status Back(std::int64_t step) {
    StorageCall call(faulty_);
    const PluginStorage& storage = call.storage();
    return BucketCheckpoints("gs://bkt/run/checkpoints", 2, storage).RemoveBeyond(step).status();
  }

  /// What a machine with nothing goes on from: the step of the newest that is whole; -1 where there is none.
  /// Every one with a marker is whole, or the test fails.
  std::int64_t Newest() {
    StorageCall call(faulty_);
    const PluginStorage& storage = call.storage();
    BucketCheckpoints checkpoints("gs://bkt/run/checkpoints", 2, storage);
    const auto committed = checkpoints.Committed();
    EXPECT_TRUE(committed.ok()) << committed.status().message();
    if (!committed.ok()) return -2;
    std::int64_t newest = -1;
    for (const CheckpointName& name : *committed) {
      const Result<CheckpointMarker> marker = checkpoints.Open(name);
      EXPECT_TRUE(marker.ok()) << marker.status().message();
      if (!marker.ok()) continue;
      const TempDir here;
      const Status fetched = FetchFiles({checkpoints.Uri(name), marker->files, here.path().string(), "it"},
                                        {storage, Never, [](std::uint64_t, std::uint64_t) {}});
      EXPECT_TRUE(fetched.ok()) << fetched.message();
      newest = std::max(newest, name.step);
    }
    return newest;
  }

  std::size_t Objects() const { return memory_.List("")->size(); }

  TempDir local_;
  mutable MemoryStore memory_;
  FaultStore faulty_{memory_};
};

TEST_F(BucketCheckpointsTest, NewestAreKeptAndOlderOnesRemoved) {
  for (const std::int64_t step : {5, 10, 100, 20}) ASSERT_EQ(Keep(step).message(), "");
  EXPECT_EQ(Newest(), 100);
  EXPECT_EQ(Objects(), 8u) << "two of three files and a marker";
  EXPECT_TRUE(Keep(20).ok()) << "what is there is there";
}

TEST_F(BucketCheckpointsTest, PinnedOnesStayAndThereIsOneOfEach) {
  ASSERT_TRUE(Keep(1, 1, {"before_decay"}).ok());
  ASSERT_TRUE(Keep(2, 1, {"best"}).ok());
  for (const std::int64_t step : {3, 4}) ASSERT_TRUE(Keep(step, 1).ok());
  EXPECT_EQ(Kept(), "1: before_decay; 2: best; 4:");
  const std::size_t objects = Objects();
  ASSERT_TRUE(Keep(4, 1, {"best"}).ok());
  EXPECT_EQ(Kept(), "1: before_decay; 4: best");
  EXPECT_EQ(Objects(), objects - 4) << "only its marker was replaced";
  ASSERT_TRUE(Keep(5, 2, {"best"}).ok());
  EXPECT_EQ(Kept(), "1: before_decay; 4:; 5: best")
      << "one that is kept for another reason is pinned no longer";
  ASSERT_TRUE(Back(4).ok());
  EXPECT_EQ(Kept(), "1: before_decay; 4:");
}

/// Power goes at each call in turn that changes something.
TEST_F(BucketCheckpointsTest, KilledAtAnyMomentThePinnedOnesAreThere) {
  ASSERT_TRUE(Keep(1, 1, {"before_decay"}).ok());
  ASSERT_TRUE(Keep(2, 1, {"best"}).ok());
  std::int64_t best = 2, step = 2;
  int killed = 0;
  for (const Call kind : {Call::kCommit, Call::kRemove})
    for (int at = 1;; ++at) {
      ASSERT_LT(at, 50);
      ++step;
      faulty_.CutPowerAt(kind, at);
      Status kept = Keep(step, 1);  // as a checkpoint is saved, evaluated and pinned
      if (kept.ok()) kept = Keep(step, 1, {"best"});
      faulty_.RestorePower();
      StorageCall call(faulty_);
      const PluginStorage& storage = call.storage();
      BucketCheckpoints checkpoints("gs://bkt/run/checkpoints", 1, storage);
      const auto pinned = checkpoints.Pinned();
      ASSERT_TRUE(pinned.ok());
      ASSERT_EQ(pinned->size(), 2u) << Kept();
      EXPECT_EQ(pinned->front().step, 1);
      EXPECT_TRUE(pinned->back().step == best || pinned->back().step == step) << Kept();
      best = pinned->back().step;
      EXPECT_GE(Newest(), best);
      if (kept.ok()) break;
      ++killed;
    }
  EXPECT_EQ(Kept(), StrCat("1: before_decay; ", step, ": best"));
  EXPECT_GE(killed, 9);
}

TEST_F(BucketCheckpointsTest, KilledWhileLaterOnesGoWhatItWentBackToIsThere) {
  int killed = 0;
  for (int at = 1;; ++at) {
    ASSERT_LT(at, 50);
    ASSERT_TRUE(Keep(1, 2, {"before_decay"}).ok());
    for (const std::int64_t step : {8, 9}) ASSERT_TRUE(Keep(step, 2).ok());
    faulty_.CutPowerAt(Call::kRemove, at);
    const Status back = Back(1);
    faulty_.RestorePower();
    EXPECT_GE(Newest(), 1);
    EXPECT_TRUE(Kept().starts_with("1: before_decay")) << Kept();
    if (back.ok()) break;
    ++killed;
  }
  EXPECT_EQ(Kept(), "1: before_decay");
  EXPECT_EQ(Objects(), 4u);
  EXPECT_EQ(killed, 8);
}

TEST_F(BucketCheckpointsTest, WhatIsNotOursStays) {
  ASSERT_TRUE(WriteObject(memory_, "run/checkpoints/notes.txt", "mine", Condition::CreateOnly()).ok());
  ASSERT_TRUE(WriteObject(memory_, "run/checkpoints/5/mine.json", "{}", Condition::CreateOnly()).ok());
  ASSERT_TRUE(Keep(5, 1).ok());
  ASSERT_TRUE(Keep(6, 1).ok());
  EXPECT_EQ(Objects(), 6u);
}

/// Power goes at each call in turn that changes something: what is left is the old checkpoint or the new one.
TEST_F(BucketCheckpointsTest, KilledAtAnyMomentTheNewestWholeOneIsThere) {
  ASSERT_TRUE(Keep(1, 1).ok());
  std::int64_t newest = 1, next = 1;
  std::map<Call, int> killed;
  for (const Call kind : {Call::kCommit, Call::kRemove})
    for (int at = 1;; ++at) {
      ASSERT_LT(at, 50);
      faulty_.CutPowerAt(kind, at);
      const Status kept = Keep(++next, 1);
      faulty_.RestorePower();
      const std::int64_t found = Newest();
      EXPECT_TRUE(found == newest || found == next) << found;
      newest = found;
      if (kept.ok()) {
        EXPECT_EQ(newest, next);
        EXPECT_EQ(Objects(), 4u) << "nothing of what was half sent stays";
        break;
      }
      ++killed[kind];
      EXPECT_TRUE(kind == Call::kCommit || newest == next) << "it was committed before anything went";
    }
  EXPECT_EQ(killed[Call::kCommit], 4) << "three files and a marker";
  EXPECT_GE(killed[Call::kRemove], 4);
}

TEST_F(BucketCheckpointsTest, HalfOfItIsNotSentAgain) {
  faulty_.CutPowerAt(Call::kCommit, 3);
  EXPECT_FALSE(Keep(7).ok());
  faulty_.RestorePower();
  EXPECT_EQ(Newest(), -1);
  const int before = faulty_.calls(Call::kCommit);
  ASSERT_TRUE(Keep(7).ok());
  EXPECT_EQ(faulty_.calls(Call::kCommit) - before, 2) << "a file, and the marker";
}

TEST_F(BucketCheckpointsTest, GivenUpLeavesNoMarker) {
  StorageCall call(faulty_);
  const PluginStorage& storage = call.storage();
  BucketCheckpoints checkpoints("gs://bkt/run/checkpoints", 2, storage);
  EXPECT_EQ(checkpoints.Commit(Make(3), Local(3), [] { return true; }).code(), Code::kCancelled);
  EXPECT_EQ(Newest(), -1);
}

TEST_F(BucketCheckpointsTest, DamagedOneIsPassedOverAndDoesNotCount) {
  for (const std::int64_t step : {5, 10}) ASSERT_TRUE(Keep(step).ok());
  StorageCall call(faulty_);
  const PluginStorage& storage = call.storage();
  BucketCheckpoints checkpoints("gs://bkt/run/checkpoints", 2, storage);
  const std::string path = Make(10).Name().Path();
  ASSERT_TRUE(memory_.Remove(StrCat("run/checkpoints/", path, "/facts")).ok());
  const auto committed = checkpoints.Committed();
  ASSERT_TRUE(committed.ok());
  const Status opened = checkpoints.Open(committed->front()).status();
  EXPECT_EQ(opened.code(), Code::kDataLoss);
  EXPECT_EQ(opened.message(), StrCat("gs://bkt/run/checkpoints/", path, "/facts: is gone"));
  ASSERT_TRUE(checkpoints.Commit(Make(7), Local(7), Never).ok());
  ASSERT_TRUE(checkpoints.Prune().ok());
  EXPECT_EQ(Newest(), 7);
  EXPECT_EQ(Objects(), 8u) << "5 and 7";
  ASSERT_TRUE(checkpoints.Commit(Make(10), Local(10), Never).ok());
  EXPECT_EQ(Newest(), 10) << "sent again, it is whole";
}

// --------------------------------------------------------------------------------------- the marker

TEST(CheckpointMarkerTest, StepsOfADiskAreThoseOfDirectoriesAndLists) {
  const TempDir disk;
  for (const char* name : {"10", "5", "007", "damaged-5-1", "-3"})
    std::filesystem::create_directories(disk.path() / name);
  for (const char* name : {"10.json", "7.json", "8.json.part", "best.json"})
    WriteFile(disk.path() / name, "{}");
  EXPECT_EQ(StepsBelow(disk.path().string()), (std::set<std::int64_t>{5, 7, 10}));
  EXPECT_TRUE(StepsBelow((disk.path() / "nowhere").string()).empty());
}

TEST(CheckpointMarkerTest, IsReadAsItWasWritten) {
  CheckpointMarker marker;
  marker.step = 20;
  marker.files = {{"facts", 2, 0x12}, {"state/d/x", 1u << 31, 0xffffffff}};
  marker.best["loss"] = 3.5;
  const Result<CheckpointMarker> read = ParseCheckpointMarker(marker.Encode(), "here");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->files, marker.files);
  EXPECT_EQ(read->best, marker.best);
  EXPECT_EQ(read->Name(), marker.Name());
  EXPECT_EQ(marker.Name().Marker().substr(0, 3), "20/");
  CheckpointMarker other = marker;
  other.files[0].crc32c = 0x13;
  EXPECT_NE(other.Name().id, marker.Name().id);
  EXPECT_FALSE(marker.ToJson().Has("pinned")) << "as the version before wrote it";
  marker.pinned = {"best", "before_decay"};
  EXPECT_EQ(ParseCheckpointMarker(marker.Encode(), "here")->pinned, marker.pinned);
  EXPECT_EQ(marker.Name(), read->Name()) << "the name is that of the content";
}

TEST(CheckpointMarkerTest, MarkerOfTheVersionBeforeIsRead) {
  const auto read = ParseCheckpointMarker(
      R"({"best": {"loss": 3.5, "step": 20}, "files": [{"bytes": 2, "crc32c": "00000012", "name": "facts"}],
          "pipe_checkpoint": 1, "step": 20})",
      "here");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_TRUE(read->pinned.empty());
}

TEST(CheckpointMarkerTest, PinsThatAreNoneAreRefused) {
  for (const std::string_view pinned :
       {R"("best")", R"(["worst"])", "[7]", "{}", "7", R"(["best", ""])", R"([["best"]])"}) {
    const auto read = ParseCheckpointMarker(
        StrCat(
            R"({"pipe_checkpoint": 1, "step": 2, "files": [{"name": "x", "bytes": 1, "crc32c": "00000000"}],
                   "pinned": )",
            pinned, "}"),
        "here");
    EXPECT_EQ(read.status().code(), Code::kDataLoss) << pinned;
  }
}

TEST(CheckpointMarkerTest, WhatLeadsElsewhereIsRefused) {
  for (const std::string_view file :
       {R"({"name": "../x", "bytes": 1, "crc32c": "00000000"})",
        R"({"name": "/x", "bytes": 1, "crc32c": "00000000"})",
        R"({"name": "a//x", "bytes": 1, "crc32c": "00000000"})",
        R"({"name": "x", "bytes": -1, "crc32c": "00000000"})",
        R"({"name": "x", "bytes": 1, "crc32c": "0000000g"})", R"({"name": "x", "bytes": 1})", "7"}) {
    const auto read =
        ParseCheckpointMarker(StrCat(R"({"pipe_checkpoint": 1, "step": 2, "files": [)", file, "]}"), "here");
    EXPECT_EQ(read.status().code(), Code::kDataLoss) << file;
  }
  for (const std::string_view text : {"", "{}", R"({"pipe_checkpoint": 2, "step": 2, "files": [7]})",
                                      R"({"pipe_checkpoint": 1, "step": 2, "files": []})"})
    EXPECT_EQ(ParseCheckpointMarker(text, "here").status().code(), Code::kDataLoss) << text;
}

TEST(CheckpointMarkerTest, NamesThatAreNotOursAreNone) {
  EXPECT_EQ(ParseCheckpointObject("20/0123456789abcdef.json")->file, "");
  EXPECT_EQ(ParseCheckpointObject("20/0123456789abcdef/state/d/x")->file, "state/d/x");
  for (const char* name : {"20", "20/state", "020/0123456789abcdef.json", "-1/0123456789abcdef.json",
                           "20/0123456789ABCDEF.json", "20/0123456789abcdef.jsonl", "20/0123456789abcdef",
                           "20/0123456789abcdef/../x", "x/0123456789abcdef/y", "20/0123456789abcdef/"})
    EXPECT_FALSE(ParseCheckpointObject(name)) << name;
}

/// A checkpoint of two hosts in the bucket: parts, records, and the marker if `marked`.
class PartsInBucketTest : public testing::Test {
 protected:
  PartsInBucketTest() : call_(store_), storage_(call_.storage()) {}

  CheckpointMarker Send(std::int64_t step, bool marked = true, std::vector<std::string> pinned = {}) {
    CheckpointMarker marker;
    marker.step = step;
    marker.attempt = 6;
    marker.pinned = std::move(pinned);
    for (int host = 0; host < 2; ++host) {
      const std::string bytes = StrCat("chunk ", host, " of ", step);
      CheckpointPart part{host, {{StrCat("state/a/", host), bytes.size(), Crc32c(bytes)}}};
      Write(StrCat(step, "/", part.Digest(), "/", part.files[0].name), bytes);
      Write(PartRecord::Name(step, 6, host), PartRecord{step, 6, 2, part}.Encode());
      marker.parts.push_back(std::move(part));
    }
    if (marked) {
      EXPECT_TRUE(Checkpoints().MarkParts(marker).ok());
    }
    return marker;
  }
  void Write(const std::string& name, std::string_view bytes) {
    ASSERT_TRUE(WriteObject(store_, "run/checkpoints/" + name, bytes, Condition::ReplaceAny()).ok());
  }
  BucketCheckpoints Checkpoints(std::int64_t keep = 1) {
    return BucketCheckpoints("gs://bkt/run/checkpoints", keep, storage_);
  }
  /// The number of objects of a step: 2 files, 2 records, a marker.
  std::size_t Objects(std::int64_t step) {
    return store_.List(StrCat("run/checkpoints/", step, "/"))->size();
  }

  MemoryStore store_;
  StorageCall call_;
  const PluginStorage& storage_;
};

TEST_F(PartsInBucketTest, AMarkerNeedsEachFileOfEachPart) {
  const CheckpointMarker marker = Send(20, false);
  ASSERT_TRUE(store_.Remove(StrCat("run/checkpoints/20/", marker.parts[1].Digest(), "/state/a/1")).ok());
  EXPECT_EQ(Checkpoints().MarkParts(marker).code(), Code::kDataLoss);
  EXPECT_TRUE(Checkpoints().Committed()->empty());
}

TEST_F(PartsInBucketTest, PruningKeepsTheFilesOfTheNewestAndRemovesRecordsAndFilesOfOthers) {
  Send(20);
  Send(40);
  EXPECT_EQ(Objects(20), 5u);
  BucketCheckpoints checkpoints = Checkpoints();
  checkpoints.Protect({}, 40);
  ASSERT_TRUE(checkpoints.Prune().ok());
  EXPECT_EQ(Objects(20), 0u);
  EXPECT_EQ(Objects(40), 5u);
  const auto left = checkpoints.Committed();
  ASSERT_EQ(left->size(), 1u);
  EXPECT_TRUE(checkpoints.Open(left->front()).ok());
}

TEST_F(PartsInBucketTest, PruningLeavesThePartsThatAreStillSentAndTheStepOfTheRunningAttempt) {
  Send(20);
  Send(40);
  Send(60, false);
  BucketCheckpoints checkpoints = Checkpoints();
  checkpoints.Protect({20}, 40);
  ASSERT_TRUE(checkpoints.Prune().ok());
  EXPECT_EQ(Objects(20), 5u) << "a host restores it";
  EXPECT_EQ(Objects(60), 4u) << "its marker is not written yet";
}

TEST_F(PartsInBucketTest, PartsWithoutAMarkerBelowTheNewestOneAreRemoved) {
  Send(20, false);
  Send(40);
  BucketCheckpoints checkpoints = Checkpoints();
  checkpoints.Protect({}, 40);
  ASSERT_TRUE(checkpoints.Prune().ok());
  EXPECT_EQ(Objects(20), 0u);
}

TEST_F(PartsInBucketTest, APinnedCheckpointStaysWithItsParts) {
  Send(20, true, {"best"});
  Send(40);
  Send(60);
  BucketCheckpoints checkpoints = Checkpoints();
  checkpoints.Protect({}, 60);
  ASSERT_TRUE(checkpoints.Prune().ok());
  EXPECT_EQ(Objects(20), 5u);
  EXPECT_EQ(Objects(40), 0u);
  const auto pinned = checkpoints.Pinned();
  ASSERT_EQ(pinned->size(), 1u);
  EXPECT_EQ(pinned->front().step, 20);
}

TEST_F(PartsInBucketTest, ACondemnedCheckpointIsUnusableForEveryHost) {
  const CheckpointMarker marker = Send(20);
  ASSERT_TRUE(Checkpoints().Condemn(marker.Name()).ok());
  ASSERT_TRUE(Checkpoints().Condemn(marker.Name()).ok()) << "twice is once";
  BucketCheckpoints other = Checkpoints();
  const auto committed = other.Committed();
  ASSERT_EQ(committed->size(), 1u);
  EXPECT_FALSE(other.Usable(committed->front()));
}

}  // namespace
}  // namespace pipeline
