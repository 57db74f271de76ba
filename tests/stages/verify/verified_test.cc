// What is read again, and what is not, once it was verified.
#include "stages/verify/verified.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/str.h"
#include "tests/stages/export/packed/packed_artifact.h"
#include "tests/stages/verify/found.h"
#include "tests/stages/verify/watched_store.h"

namespace pipeline {
namespace {

class VerifiedTest : public testing::Test {
 protected:
  VerifiedTest() : manifest_(PublishPacked(place_)) {}

  /// Verifies as a job's input is: what is known is not read. Gives the names of objects that were opened,
  /// besides those that the check goes by.
  std::vector<std::string> ReadAgain(VerifiedObjects* known, std::stop_source stop = {}, int stop_after = 0) {
    std::vector<std::string> opened;
    std::mutex mutex;
    WatchedStore store(place_, [&](const std::string& name) {
      const std::scoped_lock lock(mutex);
      opened.push_back(name);
      if (static_cast<int>(opened.size()) == stop_after) stop.request_stop();
    });
    const Result<VerifyReport> report =
        VerifyArtifact(BuiltinTables(), store, manifest_, {1, known}, stop.get_token());
    EXPECT_EQ(report.ok(), stop_after == 0) << report.status().message();
    if (report.ok()) {
      EXPECT_EQ(report->objects + report->verified_before, ObjectsOf(manifest_).size());
    }
    opened.erase(opened.begin());  // packed.json, by the check
    std::erase_if(opened, [](const std::string& name) { return name.ends_with(".idx"); });
    std::sort(opened.begin(), opened.end());
    return opened;
  }

  std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (const StoredObject* const object : ObjectsOf(manifest_))
      if (!object->name.ends_with(".idx")) names.push_back(object->name);
    std::sort(names.begin(), names.end());
    return names;
  }
  /// The same bytes, as somebody writes them who copies the directory.
  void WriteAnew(const std::string& object) {
    const std::string bytes = ReadFile(place_ + "/" + object);
    WriteFile(place_ + "/other", bytes);
    std::filesystem::rename(place_ + "/other", place_ + "/" + object);
  }
  VerifiedObjects Known() { return ReadVerified(store_, manifest_, {}); }
  const std::string& Shard() const { return manifest_.shards.front().object.name; }

  const TempDir dir_;
  const std::string place_ = dir_ / "out";
  Manifest manifest_;
  LocalStore store_{place_};
};

TEST_F(VerifiedTest, WhatIsKnownIsNotReadAgain) {
  VerifiedObjects verified;
  EXPECT_EQ(ReadAgain(&verified), Names()) << "nothing was known";
  ASSERT_TRUE(WriteVerified(store_, manifest_, verified, {}).ok());
  VerifiedObjects known = Known();
  EXPECT_EQ(known, verified);
  EXPECT_EQ(known.size(), ObjectsOf(manifest_).size());
  EXPECT_EQ(ReadAgain(&known), std::vector<std::string>());
  EXPECT_EQ(known, verified);
  EXPECT_EQ(ReadAgain(nullptr), Names()) << "`pipe verify` reads all";
  EXPECT_EQ(FoundIn(place_), std::vector<std::string>()) << "the record is no stray";
}

TEST_F(VerifiedTest, IsWrittenAsItsPageSays) {
  const StoredObject object = {"a.idx", 1042, 0x8a9136aa, Digest()};
  ASSERT_TRUE(WriteVerified(store_, manifest_, {{"a.idx", {"7-1042-5", 1042, 0x8a9136aa, 77}}}, {}).ok());
  EXPECT_EQ(
      ReadFile(place_ + "/.pipe/verified.json"),
      StrCat(R"({"manifest":")", DigestOf(ReadFile(place_ + "/MANIFEST.json")).ToHex(),
             R"(","objects":{"a.idx":{"bytes":1042,"crc32c":"8a9136aa","ctime":77,"version":"7-1042-5"}},)",
             R"("pipe_verified":1})", "\n"));
  const VerifiedObject verified = Known().at("a.idx");
  const auto there = [](std::uint64_t size, std::string version, std::optional<std::uint32_t> crc,
                        std::int64_t ctime) {
    return ObjectInfo{"a.idx", size, std::move(version), crc, ctime};
  };
  EXPECT_TRUE(IsVerified(verified, object, there(1042, "7-1042-5", {}, 77)));
  EXPECT_TRUE(IsVerified(verified, object, there(1042, "7-1042-5", 0x8a9136aa, 77)));
  EXPECT_FALSE(IsVerified(verified, object, there(1042, "7-1042-5", 0x8a9136ab, 77)));
  EXPECT_FALSE(IsVerified(verified, object, there(1041, "7-1042-5", {}, 77)));
  EXPECT_FALSE(IsVerified(verified, object, there(1042, "7-1042-6", {}, 77)));
  EXPECT_FALSE(IsVerified(verified, object, there(1042, "7-1042-5", {}, 78)));
  EXPECT_FALSE(IsVerified({"", 1042, 0x8a9136aa}, object, there(1042, "", {}, 77)));
  EXPECT_FALSE(IsVerified(verified, {"a.idx", 1042, 1, Digest()}, there(1042, "7-1042-5", {}, 77)));
  EXPECT_TRUE(IsVerified({"7-1042-5", 1042, 0x8a9136aa}, object, there(1042, "7-1042-5", {}, 77)))
      << "an earlier version wrote the list";
}

TEST_F(VerifiedTest, AnEditInPlaceWhoseTimeWasPutBackIsReadAgain) {
  VerifiedObjects known;
  ReadAgain(&known);
  const std::filesystem::path shard = place_ + "/" + Shard();
  std::string bytes = ReadFile(shard);
  bytes[40] = static_cast<char>(bytes[40] ^ 1);
  const auto mtime = std::filesystem::last_write_time(shard);
  {
    std::fstream file(shard, std::ios::in | std::ios::out | std::ios::binary);
    file << bytes;
  }
  std::filesystem::last_write_time(shard, mtime);
  EXPECT_EQ(ReadAgain(&known), std::vector<std::string>{Shard()});
  EXPECT_FALSE(known.contains(Shard()));
}

TEST_F(VerifiedTest, AnotherVersionIsReadAgainAndNothingElse) {
  VerifiedObjects known;
  ReadAgain(&known);
  WriteAnew(Shard());
  EXPECT_EQ(ReadAgain(&known), std::vector<std::string>{Shard()});
  EXPECT_EQ(ReadAgain(&known), std::vector<std::string>());

  std::string bad = ReadFile(place_ + "/" + Shard());
  bad[40] = static_cast<char>(bad[40] ^ 1);
  WriteFile(place_ + "/" + Shard(), bad);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(ReadAgain(&known), std::vector<std::string>{Shard()});
  EXPECT_FALSE(known.contains(Shard())) << "something is wrong with it";
}

TEST_F(VerifiedTest, UnderAnotherManifestNothingIsKnown) {
  VerifiedObjects known;
  ReadAgain(&known);
  ASSERT_TRUE(WriteVerified(store_, manifest_, known, {}).ok());
  manifest_.lineage.back().config["hosts"] = 1;
  EXPECT_TRUE(Known().empty());
}

TEST_F(VerifiedTest, ADamagedRecordIsNothingKnown) {
  VerifiedObjects known;
  ReadAgain(&known);
  ASSERT_TRUE(WriteVerified(store_, manifest_, known, {}).ok());
  const std::string path = place_ + "/.pipe/verified.json", good = ReadFile(path);
  const auto replaced = [&good](std::string_view from, std::string_view to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  for (const std::string& bad :
       {std::string(), std::string("[]"), std::string("{}"), good.substr(0, good.size() / 2),
        replaced("\"pipe_verified\":1", "\"pipe_verified\":2"), replaced("\"crc32c\":\"", "\"crc32c\":\"x"),
        replaced("\"bytes\":", "\"bytes\":-"), replaced("\"version\":", "\"vers\":"),
        replaced("\"objects\":", "\"object\":"), std::string(200'000, '[')}) {
    WriteFile(path, bad);
    EXPECT_TRUE(Known().empty()) << bad.substr(0, 300);
  }
  WriteFile(path, good);
  EXPECT_EQ(Known(), known);
}

TEST_F(VerifiedTest, ShardsCountOnlyWhereTheirDescriptionIsGood) {
  const std::string info = ReadFile(place_ + "/packed.json");
  for (const std::string& bad : {std::string("{}"), info + " "}) {
    WriteFile(place_ + "/packed.json", bad);
    VerifiedObjects known;
    EXPECT_EQ(ReadAgain(&known), Names());
    EXPECT_TRUE(known.empty()) << "the rows were held against something else than what was written";
  }
  WriteFile(place_ + "/packed.json", info);
  VerifiedObjects known;
  ReadAgain(&known);
  const VerifiedObjects all = known;
  WriteAnew("packed.json");
  EXPECT_EQ(ReadAgain(&known), std::vector<std::string>{"packed.json"});
  EXPECT_EQ(known.size(), all.size());
}

TEST_F(VerifiedTest, WhatWasStoppedIsGoneOnWith) {
  const int objects = static_cast<int>(ObjectsOf(manifest_).size());
  VerifiedObjects known;
  // packed.json, what lies beside the shards, then a shard and the next, of which each reads its index.
  ReadAgain(&known, {}, 1 + (objects - static_cast<int>(manifest_.shards.size())) + 3);
  EXPECT_EQ(known.size(), static_cast<std::size_t>(objects) - manifest_.shards.size() + 1);
  EXPECT_EQ(ReadAgain(&known).size(), manifest_.shards.size() - 1);
  EXPECT_EQ(ReadAgain(&known), std::vector<std::string>());
}

TEST_F(VerifiedTest, ProgressCountsTheBytesThatAreToRead) {
  VerifiedObjects known;
  std::uint64_t last = 0, of = 0, told = 0;
  VerifyRules rules = {3, &known};
  rules.progress = [&](std::uint64_t done, std::uint64_t all) {
    EXPECT_GE(done, last);
    last = done, of = all, ++told;
  };
  ASSERT_TRUE(VerifyArtifact(BuiltinTables(), store_, manifest_, rules, {}).ok());
  std::uint64_t bytes = 0;
  for (const StoredObject* const object : ObjectsOf(manifest_)) bytes += object->bytes;
  EXPECT_EQ(last, bytes);
  EXPECT_EQ(of, bytes);
  EXPECT_EQ(told, ObjectsOf(manifest_).size() + 1);
  ASSERT_TRUE(VerifyArtifact(BuiltinTables(), store_, manifest_, rules, {}).ok());
  EXPECT_EQ(told, ObjectsOf(manifest_).size() + 1) << "nothing was to read";
}

TEST_F(VerifiedTest, APlaceThatCannotBeWrittenIsSaidToBe) {
  Put(place_, ".pipe", "a file where the directory should be");
  EXPECT_FALSE(WriteVerified(store_, manifest_, {}, {}).ok());
  EXPECT_TRUE(Known().empty());
}

}  // namespace
}  // namespace pipeline
