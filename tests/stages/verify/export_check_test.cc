// What every export format is held to by its check, whatever its records are.
#include "stages/verify/export_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <stop_token>

#include "tests/stages/verify/found.h"
#include "tests/stages/verify/published_kinds.h"
#include "tests/stages/verify/watched_store.h"

namespace pipeline {
namespace {

const std::vector<PublishedKind>& Kinds() {
  static const std::vector<PublishedKind> kinds = PublishedKinds();
  return kinds;
}

class ExportCheckTest : public testing::TestWithParam<std::size_t> {
 protected:
  ExportCheckTest() : kind_(Kinds()[GetParam()]), manifest_(PublishKind(kind_, place_)) {}

  std::vector<StoredObject*> Objects() { return ObjectsOf(manifest_); }
  const std::string& FirstShard() const { return manifest_.shards.front().object.name; }
  std::string Bytes(const std::string& object) const { return ReadFile(place_ + "/" + object); }
  /// Some line is about `object`.
  static bool Tells(const std::vector<std::string>& lines, const std::string& object) {
    return std::any_of(lines.begin(), lines.end(),
                       [&](const std::string& line) { return line.starts_with(object + ": "); });
  }

  const TempDir dir_;
  const std::string place_ = dir_ / "out";
  const PublishedKind& kind_;
  Manifest manifest_;
};

TEST_P(ExportCheckTest, AGoodOneIsGoodAndReadWhole) {
  const VerifyReport report = Verify(place_);
  EXPECT_EQ(FoundIn(place_), std::vector<std::string>());
  EXPECT_EQ(report.objects, Objects().size());
  std::uint64_t bytes = 0, records = 0, read = 0;
  for (const StoredObject* const object : Objects()) bytes += object->bytes;
  for (const ManifestShard& shard : manifest_.shards) records += shard.records;
  for (const auto& [split, count] : report.records) read += count;
  EXPECT_EQ(report.bytes, bytes);
  EXPECT_EQ(read, records);
  EXPECT_GT(manifest_.shards.size(), 2u);
  EXPECT_EQ(report.records.size(), 2u);
}

TEST_P(ExportCheckTest, AFlippedByteIsFoundInItsObject) {
  for (const StoredObject* const object : Objects()) {
    const std::string good = Bytes(object->name);
    for (std::size_t at = 0; at < good.size();
         at = at + 1 == good.size() ? good.size() : std::min(good.size() - 1, at + 1 + good.size() / 25)) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ 0x10);
      Put(place_, object->name, bad);
      EXPECT_TRUE(Tells(FoundIn(place_), object->name)) << object->name << ", byte " << at;
    }
    Put(place_, object->name, good);
  }
  EXPECT_EQ(FoundIn(place_), std::vector<std::string>());
}

TEST_P(ExportCheckTest, WhatIsMissingIsNamed) {
  for (const StoredObject* const object : Objects()) {
    const std::string good = Bytes(object->name);
    std::filesystem::remove(place_ + "/" + object->name);
    EXPECT_TRUE(Finds(FoundIn(place_), object->name + ": missing; `pipe run FILE --force out` makes"));
    Put(place_, object->name, good);
  }
  // Neither there nor in the manifest.
  for (const StoredObject* const object : Objects()) {
    const std::string name = object->name, good = Bytes(name);
    if (name == manifest_.shards.back().object.name) continue;  // its split would be another one
    std::filesystem::remove(place_ + "/" + name);
    Manifest without = manifest_;
    std::erase_if(without.shards, [&](const ManifestShard& shard) { return shard.object.name == name; });
    std::erase_if(without.sidecars, [&](const StoredObject& other) { return other.name == name; });
    std::erase_if(without.followers, [&](const StoredObject& other) { return other.name == name; });
    PutManifest(place_, without);
    EXPECT_TRUE(Tells(FoundIn(place_), "MANIFEST.json")) << name;
    Put(place_, name, good);
  }
}

TEST_P(ExportCheckTest, WhatIsTruncatedIsFound) {
  for (const StoredObject* const object : Objects()) {
    const std::string good = Bytes(object->name);
    for (const std::size_t left : {std::size_t{0}, good.size() / 2, good.size() - 1}) {
      Put(place_, object->name, good.substr(0, left));
      EXPECT_TRUE(Finds(FoundIn(place_), StrCat(object->name, ": has ", left,
                                                " bytes where the manifest says ", good.size())));
    }
    // Also where the manifest knows of nothing better.
    for (const std::size_t left : {std::size_t{0}, good.size() / 2}) {
      Forge(place_, manifest_, object->name, good.substr(0, left));
      EXPECT_FALSE(FoundIn(place_).empty()) << object->name << ", " << left << " bytes";
    }
    Put(place_, object->name, good);
  }
}

TEST_P(ExportCheckTest, AShardOfOtherRecordsThanItsManifestSaysIsFound) {
  const std::vector<std::string> good = kind_.layout.records(Bytes(FirstShard()));
  std::vector<std::string> fewer = good, more = good;
  fewer.pop_back();
  more.push_back(good.front());
  for (const std::vector<std::string>& records : {fewer, more}) {
    Forge(place_, manifest_, FirstShard(), kind_.layout.shard(records));
    EXPECT_TRUE(Tells(FoundIn(place_), FirstShard())) << records.size() << " of " << good.size();
  }
  Forge(place_, manifest_, FirstShard(), kind_.layout.shard(good));
  EXPECT_EQ(FoundIn(place_), std::vector<std::string>());
}

TEST_P(ExportCheckTest, ARecordIsWrongWhereEachChecksumHolds) {
  std::vector<std::string> records = kind_.layout.records(Bytes(FirstShard()));
  records[1] = kind_.wrong;
  Forge(place_, manifest_, FirstShard(), kind_.layout.shard(records));
  const std::vector<std::string> lines = FoundIn(place_);
  EXPECT_TRUE(Finds(lines, FirstShard() + ": record 1 at byte ") ||
              Finds(lines, FirstShard() + ": line 2: "));
  EXPECT_FALSE(Finds(lines, "its bytes are not those that were written"));
}

TEST_P(ExportCheckTest, AStopAtAnyObjectIsNoFinding) {
  int opens = 1;
  for (bool stopped = true; stopped; ++opens) {
    std::stop_source stop;
    WatchedStore store(place_, [&, left = std::make_shared<std::atomic<int>>(opens)](const std::string&) {
      if (--*left == 0) stop.request_stop();
    });
    const Result<VerifyReport> report =
        VerifyArtifact(BuiltinTables(), store, manifest_, {2}, stop.get_token());
    stopped = stop.stop_requested();
    EXPECT_EQ(report.status().code(), stopped ? Code::kCancelled : Code::kOk) << opens;
  }
  EXPECT_GT(opens, static_cast<int>(Objects().size()));
}

TEST_P(ExportCheckTest, TheReportDoesNotDependOnThreads) {
  for (const ManifestShard& shard : manifest_.shards) {
    std::vector<std::string> records = kind_.layout.records(Bytes(shard.object.name));
    records[0] = kind_.wrong;
    Put(place_, shard.object.name, kind_.layout.shard(records));
  }
  const VerifyReport alone = Verify(place_, 1), many = Verify(place_, 5);
  EXPECT_EQ(FoundIn(place_, 1), FoundIn(place_, 5));
  EXPECT_EQ(alone.findings.size(), manifest_.shards.size());
  EXPECT_EQ(alone.records, many.records);
  EXPECT_EQ(alone.bytes, many.bytes);
  EXPECT_EQ(alone.objects, many.objects);
}

TEST_P(ExportCheckTest, WhatAnotherProgramMadeIsReadAndSaidToBeUnknown) {
  manifest_.lineage.back().type = "write_other";
  PutManifest(place_, manifest_);
  EXPECT_EQ(FoundIn(place_),
            std::vector<std::string>{"MANIFEST.json: a stage of type write_other made the artifact, and this "
                                     "program cannot check its records; `pipe run FILE --force out` makes "
                                     "the artifact again"});
  std::string bad = Bytes(FirstShard());
  bad.back() = static_cast<char>(bad.back() ^ 0x10);
  Put(place_, FirstShard(), bad);
  EXPECT_TRUE(Finds(FoundIn(place_), FirstShard() + ": its bytes are not those that were written"));
}

INSTANTIATE_TEST_SUITE_P(All, ExportCheckTest, testing::Range<std::size_t>(0, Kinds().size()),
                         [](const auto& kind) { return Kinds()[kind.param].name; });

}  // namespace
}  // namespace pipeline
