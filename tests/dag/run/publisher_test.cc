#include "dag/run/publisher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/crc32c.h"
#include "dag/books/run_log.h"
#include "dag/location/location_names.h"
#include "dag/location/own_objects.h"
#include "dag/location/publishing.h"
#include "storage/memory_store.h"
#include "tests/support/fault_store.h"
#include "tests/support/map_store.h"
#include "tests/support/silent_progress.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

StoredObject Stored(const std::string& name, const std::string& bytes) {
  return {name, bytes.size(), Crc32c(bytes), DigestOf(bytes)};
}

/// Calls of the groups of one publication, for tests that stop a thread in one of them. Empty: nothing.
struct GroupHooks {
  std::function<void(std::size_t shard)> written;
  std::function<Status(std::size_t shard)> before_commit;
};

class IndexedShard final : public UncommittedShard {
 public:
  IndexedShard(Store& out, std::string name, std::size_t number, ShardConditions conditions,
               const GroupHooks& hooks)
      : out_(out),
        name_(std::move(name)),
        number_(number),
        conditions_(std::move(conditions)),
        hooks_(hooks) {}

  Result<ShardOutput> Commit(const std::stop_token&) override {
    if (hooks_.before_commit) RETURN_IF_ERROR(hooks_.before_commit(number_));
    const std::string bytes = "rows of " + name_;
    const std::string index = name_ + ".idx";
    RETURN_IF_ERROR(WriteObject(out_, index, name_, conditions_.index).status());
    RETURN_IF_ERROR(WriteObject(out_, name_, bytes, conditions_.shard).status());
    return ShardOutput{Stored(name_, bytes), number_ + 1, Stored(index, name_), {number_, 10 * number_}};
  }

 private:
  Store& out_;
  const std::string name_;
  const std::size_t number_;
  const ShardConditions conditions_;
  const GroupHooks& hooks_;
};

class IndexedGroup final : public GroupWriter {
 public:
  IndexedGroup(const std::vector<Shard>& shards, GroupRequest request, const GroupHooks& hooks)
      : shards_(shards), request_(std::move(request)), hooks_(hooks) {}
  Result<std::unique_ptr<UncommittedShard>> WriteNext(const ShardConditions& conditions) override {
    const std::size_t shard = request_.shards[next_++];
    if (hooks_.written) hooks_.written(shard);
    return std::unique_ptr<UncommittedShard>(
        std::make_unique<IndexedShard>(*request_.out, shards_[shard].object, shard, conditions, hooks_));
  }

 private:
  const std::vector<Shard>& shards_;
  const GroupRequest request_;
  const GroupHooks& hooks_;
  std::size_t next_ = 0;
};

/// Three shards with an index each, which is the shard's name; keeps what it was asked to describe.
class IndexedShards final : public Publication {
 public:
  IndexedShards(std::vector<ShardOutput>* described, std::uint32_t first, const GroupHooks& hooks)
      : described_(described), hooks_(hooks) {
    for (std::uint32_t number = first; number < first + 3; ++number)
      shards_.push_back({"train", number, 3, Name(number), DigestOf(Name(number)), Name(number) + ".idx"});
  }
  const std::vector<Shard>& shards() const override { return shards_; }
  std::vector<std::vector<std::size_t>> Groups(std::uint64_t) const override { return {{0, 1}, {2}}; }
  std::unique_ptr<GroupWriter> OpenGroup(GroupRequest request) const override {
    return std::make_unique<IndexedGroup>(shards_, std::move(request), hooks_);
  }
  Result<Sidecars> Describe(const std::vector<ShardOutput>& outputs) const override {
    *described_ = outputs;
    return Sidecars{{{"about.json", "{}"}}, {}};
  }

 private:
  static std::string Name(std::uint32_t number) { return "train." + std::to_string(number); }
  std::vector<ShardOutput>* const described_;
  const GroupHooks& hooks_;
  std::vector<Shard> shards_;
};

class IndexedSink final : public SinkStage {
 public:
  IndexedSink(std::vector<ShardOutput>* described, std::uint32_t first, const GroupHooks& hooks)
      : described_(described), first_(first), hooks_(hooks) {}
  const Transform* encoder() const override { return nullptr; }
  Result<std::unique_ptr<Sink>> OpenPartition(Store&, PartitionId) const override {
    return Status(Code::kUnimplemented, "no partitions here");
  }
  std::uint64_t partition_memory(std::uint64_t) const override { return 0; }
  Result<std::unique_ptr<Publication>> Plan(Store&, const std::vector<PartitionOutput>&) const override {
    return std::unique_ptr<Publication>(std::make_unique<IndexedShards>(described_, first_, hooks_));
  }

 private:
  std::vector<ShardOutput>* const described_;
  const std::uint32_t first_;
  const GroupHooks& hooks_;
};

/// Keeps how many shards were told to be there.
class ToldShards final : public SilentProgress {
 public:
  void Advanced(std::string_view, std::uint64_t done, std::uint64_t of) override {
    told.push_back(std::to_string(done) + " of " + std::to_string(of));
  }

  std::vector<std::string> told;
};

class PublisherTest : public testing::Test {
 protected:
  PublisherTest() {
    LineageStage stage;
    stage.stage = "packed";
    stage.type = "write_packed";
    stage.config = Json::Object{};
    stage.recipe = DigestOf("recipe");
    planned_.lineage = {stage};
    planned_.keys.stage = "packed";
    planned_.location = "/out";
    scope_.planned = &planned_;
    scope_.options = &options_;
    scope_.content_stage = planned_.lineage.back();
    scope_.environment = &environment_;
    NumberFrom(0);
    scope_.directory = std::make_unique<MapStore>();
    environment_.progress = &progress_;
  }

  /// What is published from now on has these numbers: other names than before.
  void NumberFrom(std::uint32_t first) {
    scope_.assembly.sink = std::make_unique<IndexedSink>(&described_, first, hooks_);
  }
  /// What lies there, but for the list of names, whose parts are called by what is in them.
  static std::map<std::string, std::string> ObjectsIn(Store& out) {
    std::map<std::string, std::string> objects;
    for (const ObjectInfo& object : out.List("").value())
      if (!object.name.starts_with(kNamesPrefix))
        objects.emplace(object.name, ReadObject(out, object.name, 1 << 20).value());
    return objects;
  }
  /// All that lies there is listed, or the program's own, or in `others`.
  static void ExpectListed(Store& out, const NameSet& others = {}) {
    const auto list = LocationNames::Read(out, out.List("").value());
    ASSERT_TRUE(list.ok());
    for (const ObjectInfo& object : OwnObjects(out.List("").value()))
      EXPECT_EQ((*list)->Has(object.name), object.name != kManifestName && !others.contains(object.name))
          << object.name;
  }

  /// One run with a log that was opened again. `existing` is what it finds.
  Status Publish(Store& out, std::size_t* existing = nullptr) {
    Result<std::unique_ptr<RunLog>> log = RunLog::Open(dir_ / "run.log");
    RETURN_IF_ERROR(log.status());
    environment_.log = log->get();
    Publisher publisher(scope_, out);
    RETURN_IF_ERROR(publisher.Begin({}, 0, 1));
    if (existing != nullptr) *existing = publisher.existing_shards();
    for (std::size_t group = 0; group < publisher.groups().size(); ++group)
      RETURN_IF_ERROR(publisher.RunGroup(group, 0, {}));
    return publisher.Finish({}, {});
  }

  static std::string VersionOf(Store& out, std::string_view name) {
    const auto there = out.Stat(name);
    return there.ok() && *there ? (*there)->version : "";
  }

  TempDir dir_;
  ToldShards progress_;
  Environment environment_;
  RunOptions options_;
  PlannedSegment planned_{NodeId(0)};
  SegmentScope scope_;
  std::vector<ShardOutput> described_;
  GroupHooks hooks_;
};

TEST_F(PublisherTest, AnIndexIsASidecarOfTheManifest) {
  MapStore out;
  const Status status = Publish(out);
  ASSERT_TRUE(status.ok()) << status.message();
  const auto manifest = ReadManifest(out, "out");
  ASSERT_TRUE(manifest.ok()) << manifest.status().message();
  std::vector<std::string> names;
  for (const StoredObject& sidecar : manifest->sidecars) names.push_back(sidecar.name);
  EXPECT_EQ(names, (std::vector<std::string>{"train.0.idx", "train.1.idx", "train.2.idx", "about.json"}));
  EXPECT_TRUE(out.objects().contains("train.1.idx")) << "no stray";
}

TEST_F(PublisherTest, GroupsAreDividedUntilEachWriterHasOne) {
  const auto log = RunLog::Open(dir_ / "run.log");
  ASSERT_TRUE(log.ok());
  environment_.log = log->get();
  using Groups = std::vector<std::vector<std::size_t>>;
  for (const auto& [writers, groups] : std::map<int, Groups>{
           {1, {{0, 1}, {2}}}, {2, {{0, 1}, {2}}}, {3, {{0}, {1}, {2}}}, {64, {{0}, {1}, {2}}}}) {
    MapStore out;
    Publisher publisher(scope_, out);
    ASSERT_TRUE(publisher.Begin({}, 0, writers).ok());
    EXPECT_EQ(publisher.groups(), groups) << writers;
  }
}

TEST_F(PublisherTest, EachShardIsToldWhenItIsThere) {
  MapStore out;
  ASSERT_TRUE(Publish(out).ok());
  EXPECT_EQ(progress_.told, (std::vector<std::string>{"1 of 3", "2 of 3", "3 of 3"})) << "not group by group";
}

TEST_F(PublisherTest, AShardIsWrittenWhileTheOneBeforeItIsCommitted) {
  std::promise<void> second_written;
  bool overlapped = false;
  hooks_.written = [&](std::size_t shard) {
    if (shard == 1) second_written.set_value();
  };
  hooks_.before_commit = [&](std::size_t shard) {
    if (shard == 0)
      overlapped = second_written.get_future().wait_for(std::chrono::minutes(1)) == std::future_status::ready;
    return Status();
  };
  MapStore out;
  ASSERT_TRUE(Publish(out).ok());
  EXPECT_TRUE(overlapped);
}

TEST_F(PublisherTest, BehindACommitThatFailsNoShardOfItsGroupIsCommittedOrLogged) {
  hooks_.before_commit = [](std::size_t shard) {
    return shard == 0 ? Status(Code::kUnavailable, "the bucket does not answer") : Status();
  };
  MapStore out;
  EXPECT_EQ(Publish(out).message(), "the bucket does not answer");
  EXPECT_FALSE(out.objects().contains("train.1"));
  EXPECT_TRUE(progress_.told.empty());
  hooks_.before_commit = nullptr;
  std::size_t existing = 7;
  ASSERT_TRUE(Publish(out, &existing).ok());
  EXPECT_EQ(existing, 0u);
}

TEST_F(PublisherTest, AShardThatExistsIsDescribedAgainFromTheLog) {
  MapStore out;
  ASSERT_TRUE(Publish(out).ok());
  const std::vector<ShardOutput> wanted = std::exchange(described_, {});
  std::size_t existing = 0;
  ASSERT_TRUE(Publish(out, &existing).ok());
  EXPECT_EQ(existing, 3u);
  ASSERT_EQ(described_.size(), wanted.size());
  for (std::size_t shard = 0; shard < wanted.size(); ++shard) {
    EXPECT_EQ(described_[shard].object, wanted[shard].object);
    EXPECT_EQ(described_[shard].index, wanted[shard].index);
    EXPECT_EQ(described_[shard].records, wanted[shard].records);
    EXPECT_EQ(described_[shard].sums, wanted[shard].sums);
  }
}

TEST_F(PublisherTest, AShardWhoseIndexIsGoneOrCutDoesNotCountAsExisting) {
  MapStore out;
  ASSERT_TRUE(Publish(out).ok());
  const auto good = ObjectsIn(out);
  ASSERT_TRUE(out.Remove("train.0.idx").ok());
  out["train.2.idx"] = "cut";
  std::size_t existing = 0;
  ASSERT_TRUE(Publish(out, &existing).ok());
  EXPECT_EQ(existing, 1u);
  EXPECT_EQ(ObjectsIn(out), good);
}

TEST_F(PublisherTest, EveryPowerCutIsGoneOnFromToTheSameObjects) {
  MapStore wanted;
  ASSERT_TRUE(Publish(wanted).ok());
  const int commits = static_cast<int>(wanted.objects().size());
  for (int at = 1; at <= commits; ++at) {
    std::filesystem::remove(dir_ / "run.log");
    MapStore disk;
    FaultStore out(disk);
    out.CutPowerAt(FaultStore::Call::kCommit, at);
    EXPECT_FALSE(Publish(out).ok()) << at;
    out.RestorePower();
    std::size_t existing = 0;
    const Status status = Publish(out, &existing);
    ASSERT_TRUE(status.ok()) << at << ": " << status.message();
    // A list and the marker come first, then an index and a shard each.
    EXPECT_EQ(existing, static_cast<std::size_t>(std::clamp((at - 3) / 2, 0, 3))) << at;
    EXPECT_EQ(ObjectsIn(disk), ObjectsIn(wanted)) << at;
  }
}

/// A store in which an object of somebody else lands just before the first write of that name.
class LateWriter final : public Store {
 public:
  LateWriter(Store& inner, std::string name, std::string bytes)
      : inner_(inner), name_(std::move(name)), bytes_(std::move(bytes)) {}
  Result<std::unique_ptr<ByteFile>> Open(std::string_view name) override { return inner_.Open(name); }
  Result<std::unique_ptr<ObjectWriter>> Create(std::string_view name, Condition condition) override {
    if (name == name_ && times > 0) {
      --times;
      const std::string landed = bytes_ + std::string(static_cast<std::size_t>(times), '.');
      EXPECT_TRUE(WriteObject(inner_, name, landed, Condition::ReplaceAny()).ok());
    }
    return inner_.Create(name, std::move(condition));
  }
  Result<std::optional<ObjectInfo>> Stat(std::string_view name) override { return inner_.Stat(name); }
  Result<std::vector<ObjectInfo>> List(std::string_view prefix) override { return inner_.List(prefix); }
  Status Remove(std::string_view name) override { return inner_.Remove(name); }
  Status Sweep(std::string_view prefix) override { return inner_.Sweep(prefix); }

  int times = 1;

 private:
  Store& inner_;
  const std::string name_, bytes_;
};

TEST_F(PublisherTest, AnObjectThatLandedUnderALostLeaseIsReplacedByTheHolderAlone) {
  MapStore wanted;
  ASSERT_TRUE(Publish(wanted).ok());
  for (const std::string name : {"train.1", "train.1.idx", "train.2"}) {
    std::filesystem::remove(dir_ / "run.log");
    MapStore disk;
    LateWriter out(disk, name, "of another recipe");
    EXPECT_EQ(Publish(out).code(), Code::kAlreadyExists) << name << ": a worker replaces nothing";
    std::filesystem::remove(dir_ / "run.log");
    MapStore ours;
    LateWriter held(ours, name, "of another recipe");
    int confirmed = 0;
    scope_.confirm = [&confirmed](std::stop_token) -> Status { return ++confirmed, Status(); };
    const Status status = Publish(held);
    ASSERT_TRUE(status.ok()) << name << ": " << status.message();
    EXPECT_EQ(ours.objects(), wanted.objects()) << name;
    EXPECT_GT(confirmed, 0);
    scope_.confirm = nullptr;
  }
}

TEST_F(PublisherTest, WhoHasLostThePlaceReplacesNothing) {
  MapStore disk;
  LateWriter out(disk, "train.0", "of another recipe");
  bool lost = false;
  scope_.confirm = [&](std::stop_token) -> Status {
    return out.times == 0 || lost ? LeaseIsLost("/out", "another run has taken it over") : Status();
  };
  const Status status = Publish(out);
  EXPECT_NE(status.Detail<LostLease>(), nullptr) << status.message();
  EXPECT_EQ(disk.objects().at("train.0"), "of another recipe");
  EXPECT_FALSE(disk.objects().contains(std::string(kManifestName)));
}

TEST_F(PublisherTest, SomebodyWhoWritesOnAtTheSamePlaceEndsTheRun) {
  MemoryStore disk;
  LateWriter out(disk, "train.0", "of another recipe");
  out.times = 10;
  scope_.confirm = [](std::stop_token) { return Status(); };
  EXPECT_FALSE(Publish(out).ok());
  EXPECT_GT(out.times, 0);
}

TEST_F(PublisherTest, AManifestOfAnotherRecipeThatCameSinceThePlanIsLeft) {
  MapStore out;
  ASSERT_TRUE(Publish(out).ok());
  const auto published = out.objects();
  std::filesystem::remove(dir_ / "run.log");
  planned_.lineage[0].recipe = DigestOf("another recipe");
  EXPECT_EQ(Publish(out).code(), Code::kFailedPrecondition);
  EXPECT_EQ(out.objects(), published);
}

TEST_F(PublisherTest, AManifestThatLandedUnderALostLeaseAndWhoseShardsAreReplacedGoes) {
  MapStore theirs, wanted;
  ASSERT_TRUE(Publish(theirs).ok());
  std::filesystem::remove(dir_ / "run.log");
  planned_.lineage[0].recipe = DigestOf("another recipe");
  ASSERT_TRUE(Publish(wanted).ok());
  for (const bool whole : {false, true}) {
    std::filesystem::remove(dir_ / "run.log");
    MapStore out;
    int confirmed = 0;
    scope_.confirm = [&](std::stop_token) -> Status {
      if (++confirmed != 3) return {};  // the last one before the manifest
      EXPECT_TRUE(out.objects().contains("about.json"));
      out[std::string(kManifestName)] = theirs.objects().at(std::string(kManifestName));
      if (!whole) out["train.1"] = "cut";
      return {};
    };
    const Status status = Publish(out);
    EXPECT_EQ(status.code(), whole ? Code::kFailedPrecondition : Code::kOk) << status.message();
    const bool ours =
        out.objects().at(std::string(kManifestName)) == wanted.objects().at(std::string(kManifestName));
    EXPECT_EQ(ours, !whole);
  }
  scope_.confirm = nullptr;
}

TEST_F(PublisherTest, AShardOfOthersThatIsAsLongDoesNotCountAsExisting) {
  MapStore out;
  ASSERT_TRUE(Publish(out).ok());
  const auto good = out.objects();
  ASSERT_TRUE(out.Remove(kManifestName).ok());
  std::size_t existing = 0;
  ASSERT_TRUE(Publish(out, &existing).ok());
  EXPECT_EQ(existing, 3u) << "by its size";
  ASSERT_TRUE(out.Remove(kManifestName).ok());
  // Another work directory markers the place, writes one shard and is killed.
  out["train.1"] = std::string(good.at("train.1").size(), 'x');
  environment_.lease.holder = "another work directory";
  ASSERT_TRUE(WriteMarker(scope_.publishing(), out).ok());
  environment_.lease.holder.clear();
  ASSERT_TRUE(WriteMarker(scope_.publishing(), out).ok());  // as a run that is killed behind its marker
  for (const std::size_t left : {2u, 3u}) {
    ASSERT_TRUE(Publish(out, &existing).ok());
    EXPECT_EQ(existing, left);
    EXPECT_EQ(out.objects().at("train.1"), good.at("train.1"));
    ASSERT_TRUE(out.Remove(kManifestName).ok());
  }
}

TEST_F(PublisherTest, AnObjectIsListedBeforeItIsThereAndUntilItIsGone) {
  MapStore counted;
  ASSERT_TRUE(Publish(counted).ok());
  const int commits = static_cast<int>(counted.objects().size());
  for (const FaultStore::Call call : {FaultStore::Call::kCommit, FaultStore::Call::kRemove})
    for (int at = 1; at <= commits + 1; ++at) {
      std::filesystem::remove(dir_ / "run.log");
      MapStore disk;
      NumberFrom(0);
      ASSERT_TRUE(Publish(disk).ok());
      ASSERT_TRUE(disk.Remove(kManifestName).ok());
      std::filesystem::remove(dir_ / "run.log");
      NumberFrom(3);
      FaultStore out(disk);
      out.CutPowerAt(call, at);
      (void)Publish(out);
      ExpectListed(disk);
      out.RestorePower();
      std::filesystem::remove(dir_ / "run.log");
      const Status status = Publish(out);
      ASSERT_TRUE(status.ok()) << status.message();
      ExpectListed(disk);
      EXPECT_FALSE(disk.objects().contains("train.0") || disk.objects().contains("train.2.idx")) << at;
      EXPECT_TRUE(disk.objects().contains("train.5")) << at;
    }
}

TEST_F(PublisherTest, WhatNoRunWroteStays) {
  MapStore out;
  ASSERT_TRUE(Publish(out).ok());
  out["NOTES.md"] = "mine";
  out["my_model/weights"] = "mine";
  planned_.replaces = planned_.forced = true;
  ASSERT_TRUE(Publish(out).ok());
  NumberFrom(3);
  planned_.lineage[0].recipe = DigestOf("another recipe");
  planned_.manifest_version = VersionOf(out, kManifestName);
  ASSERT_TRUE(Publish(out).ok());
  EXPECT_EQ(out.objects().at("NOTES.md"), "mine");
  EXPECT_EQ(out.objects().at("my_model/weights"), "mine");
  EXPECT_FALSE(out.objects().contains("train.0"));
  ExpectListed(out, {"NOTES.md", "my_model/weights"});
}

TEST_F(PublisherTest, WhatCameSinceThePlanIsNotWrittenOver) {
  MapStore out;
  ASSERT_TRUE(Publish(out).ok());
  out["train.4"] = "mine";
  NumberFrom(3);
  planned_.lineage[0].recipe = DigestOf("another recipe");
  planned_.replaces = true;
  planned_.manifest_version = VersionOf(out, kManifestName);
  const Status status = Publish(out);
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_EQ(
      status.message(),
      "/out: no run wrote train.4, and this run would write over that; move it elsewhere and run again");
  EXPECT_EQ(out.objects().at("train.4"), "mine");
  EXPECT_TRUE(out.objects().contains(std::string(kManifestName))) << "nothing was taken away";
}

TEST_F(PublisherTest, BeforeTheListItsFormTellsWhatAKilledRunLeft) {
  scope_.names.own = [](std::string_view object) { return object.starts_with("train."); };
  MapStore out;
  out["train.7"] = "left there";
  out["NOTES.md"] = "mine";
  ASSERT_TRUE(Publish(out).ok());
  EXPECT_FALSE(out.objects().contains("train.7"));
  EXPECT_EQ(out.objects().at("NOTES.md"), "mine");
  out["train.7"] = "mine";
  planned_.replaces = planned_.forced = true;
  ASSERT_TRUE(Publish(out).ok());
  EXPECT_EQ(out.objects().at("train.7"), "mine") << "now the list tells";
}

TEST_F(PublisherTest, BehindADamagedManifestNothingStaysThatSaysItIsComplete) {
  MapStore out;
  ASSERT_TRUE(Publish(out).ok());
  out[std::string(kManifestName)] = "{";
  out["NOTES.md"] = "mine";
  planned_.replaces = planned_.forced = true;
  FaultStore disk(out);
  disk.CutPowerAt(FaultStore::Call::kAppend, 4);
  EXPECT_FALSE(Publish(disk).ok());
  EXPECT_FALSE(out.objects().contains("about.json") || out.objects().contains(std::string(kManifestName)));
  EXPECT_TRUE(out.objects().contains("NOTES.md") && out.objects().contains("train.0"));
}

class BucketPublisherTest : public PublisherTest {
 protected:
  BucketPublisherTest() { planned_.location = "gs://bucket/out"; }
  /// As a machine that has nothing but the bucket.
  Status PublishElsewhere(Store& out, std::size_t* existing) {
    std::filesystem::remove(dir_ / "run.log");
    return Publish(out, existing);
  }
  static std::map<std::string, std::string> VersionsIn(Store& out) {
    std::map<std::string, std::string> versions;
    for (const ObjectInfo& object : out.List("").value())
      if (!object.name.starts_with(kOwnPrefix)) versions.emplace(object.name, object.version);
    return versions;
  }
};

TEST_F(BucketPublisherTest, AnotherMachineKnowsTheExistingShards) {
  MemoryStore out;
  ASSERT_TRUE(Publish(out).ok());
  const auto versions = VersionsIn(out);
  ASSERT_TRUE(out.Remove("train.1").ok());
  std::size_t existing = 0;
  ASSERT_TRUE(PublishElsewhere(out, &existing).ok());
  EXPECT_EQ(existing, 2u);
  const auto now = VersionsIn(out);
  for (const auto& [name, version] : versions) {
    if (name == "train.1") continue;
    EXPECT_EQ(now.at(name), version) << name << " was written again";
  }
  EXPECT_TRUE(now.contains("train.1"));
}

TEST_F(BucketPublisherTest, AShardOfAnotherRecipeThatIsAsLongDoesNotCountAsExisting) {
  MemoryStore out;
  ASSERT_TRUE(Publish(out).ok());
  ASSERT_TRUE(out.Remove(kManifestName).ok());
  const std::string ours = ReadObject(out, "train.1", 100).value();
  ASSERT_TRUE(WriteObject(out, "train.1", std::string(ours.size(), 'x'), Condition::ReplaceAny()).ok());
  std::size_t existing = 0;
  ASSERT_TRUE(Publish(out, &existing).ok());
  EXPECT_EQ(existing, 2u) << "by the run log";
  EXPECT_EQ(ReadObject(out, "train.1", 100).value(), ours);
  ASSERT_TRUE(WriteObject(out, "train.1", std::string(ours.size(), 'x'), Condition::ReplaceAny()).ok());
  ASSERT_TRUE(PublishElsewhere(out, &existing).ok());
  EXPECT_EQ(existing, 2u) << "by the log of the place";
  EXPECT_EQ(ReadObject(out, "train.1", 100).value(), ours);
}

TEST_F(BucketPublisherTest, WithoutItsLogShardsAreMadeAgainAndNotWritten) {
  MemoryStore out;
  ASSERT_TRUE(Publish(out).ok());
  const auto versions = VersionsIn(out);
  for (const ObjectInfo& log : out.List(kLocationLogPrefix).value()) ASSERT_TRUE(out.Remove(log.name).ok());
  std::size_t existing = 7;
  ASSERT_TRUE(PublishElsewhere(out, &existing).ok());
  EXPECT_EQ(existing, 0u);
  EXPECT_EQ(VersionsIn(out), versions);
}

TEST_F(BucketPublisherTest, ALogThatIsTornOrOfOthersSaysNothing) {
  // A worker's unit is a group of shards and writes a segment; a run of all writes one at the end.
  for (const std::size_t segments : {2u, 1u}) {
    std::filesystem::remove(dir_ / "run.log");
    MemoryStore out;
    options_.mode = segments == 2 ? ExecutionMode::kOneUnit : ExecutionMode::kAll;
    ASSERT_TRUE(Publish(out).ok());
    options_.mode = ExecutionMode::kAll;
    const std::vector<ObjectInfo> logs = out.List(kLocationLogPrefix).value();
    EXPECT_EQ(logs.size(), segments);
    for (const ObjectInfo& log : logs) {
      std::string text = ReadObject(out, log.name, 1 << 20).value();
      ASSERT_TRUE(WriteObject(out, log.name, text.substr(0, text.size() - 3), Condition::ReplaceAny()).ok());
    }
    ASSERT_TRUE(WriteObject(out, ".pipe/log/other.log", "hello\n", Condition::CreateOnly()).ok());
    ASSERT_TRUE(out.Remove(kManifestName).ok());
    std::size_t existing = 7;
    ASSERT_TRUE(PublishElsewhere(out, &existing).ok());
    EXPECT_EQ(existing, 3 - segments) << "the last line of each segment is torn";
  }
}

TEST_F(BucketPublisherTest, TheLogIsWrittenBehindTheLastGroupOfAStoppedRun) {
  MemoryStore out;
  std::stop_source stop;
  hooks_.before_commit = [&stop](std::size_t shard) {
    if (shard == 1) stop.request_stop();  // the last of its group, which ends well
    return Status();
  };
  {
    Result<std::unique_ptr<RunLog>> log = RunLog::Open(dir_ / "run.log");
    ASSERT_TRUE(log.ok());
    environment_.log = log->get();
    Publisher publisher(scope_, out);
    ASSERT_TRUE(publisher.Begin({}, 0, 1).ok());
    ASSERT_TRUE(publisher.RunGroup(0, 0, stop.get_token()).ok());
  }
  hooks_.before_commit = nullptr;
  std::size_t existing = 7;
  ASSERT_TRUE(PublishElsewhere(out, &existing).ok());
  EXPECT_EQ(existing, 2u);
}

TEST_F(BucketPublisherTest, EveryPowerCutIsGoneOnFromElsewhereAndNothingIsWrittenTwice) {
  MemoryStore wanted;
  ASSERT_TRUE(Publish(wanted).ok());
  const int commits = static_cast<int>(wanted.List("").value().size());
  for (int at = 1; at <= commits; ++at) {
    std::filesystem::remove(dir_ / "run.log");
    MemoryStore bucket;
    FaultStore out(bucket);
    out.CutPowerAt(FaultStore::Call::kCommit, at);
    EXPECT_FALSE(Publish(out).ok()) << at;
    out.RestorePower();
    const auto before = VersionsIn(bucket);
    std::size_t existing = 0;
    const Status status = PublishElsewhere(out, &existing);
    ASSERT_TRUE(status.ok()) << at << ": " << status.message();
    const auto after = VersionsIn(bucket);
    for (const auto& [name, version] : before) EXPECT_EQ(after.at(name), version) << at << ": " << name;
    EXPECT_EQ(after.size(), VersionsIn(wanted).size()) << at;
  }
}

TEST_F(BucketPublisherTest, AnotherRecipeTakesTheLogAway) {
  MemoryStore out;
  ASSERT_TRUE(Publish(out).ok());
  const auto logs = [&out] {
    std::vector<std::string> names;
    for (const ObjectInfo& log : out.List(kLocationLogPrefix).value()) names.push_back(log.name);
    return names;
  };
  const std::vector<std::string> before = logs();
  planned_.lineage[0].recipe = DigestOf("another recipe");
  planned_.replaces = true;
  planned_.manifest_version = VersionOf(out, kManifestName);
  ASSERT_TRUE(Publish(out).ok());
  for (const std::string& name : before)
    EXPECT_FALSE(out.Stat(name)->has_value()) << name << " tells of shards that are replaced";
  EXPECT_FALSE(logs().empty());
}

}  // namespace
}  // namespace pipeline
