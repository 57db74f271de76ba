#include "storage/object_group.h"

#include <gtest/gtest.h>

#include <string>

#include "base/str.h"
#include "storage/bundle_store.h"
#include "storage/local_store.h"
#include "storage/memory_store.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

std::string Bytes(Store& store, std::string_view name) {
  const Result<std::string> bytes = ReadObject(store, name, 1 << 20);
  return bytes.ok() ? *bytes : std::string(bytes.status().message());
}

template <class Backend>
void CommitsTogether(Backend& store) {
  ObjectGroup group;
  const std::unique_ptr<Store> joined = group.Join(store);
  ASSERT_TRUE(WriteObject(store, "taken", "theirs", Condition::CreateOnly()).ok());
  ASSERT_TRUE(WriteObject(store, "old", "old", Condition::CreateOnly()).ok());
  const Result<ObjectInfo> info = WriteObject(*joined, "a/new", "12345", Condition::CreateOnly());
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(info->size, 5u);
  ASSERT_TRUE(WriteObject(*joined, "taken", "ours", Condition::CreateOnly()).ok());
  ASSERT_TRUE(WriteObject(*joined, "old", "replaced", Condition::ReplaceAny()).ok());
  EXPECT_EQ(group.size(), 3u);
  EXPECT_EQ(store.List("")->size(), 2u);
  EXPECT_EQ(Bytes(store, "old"), "old");

  const std::vector<Status> outcomes = group.Commit();
  ASSERT_EQ(outcomes.size(), 3u);
  EXPECT_TRUE(outcomes[0].ok()) << outcomes[0].message();
  EXPECT_EQ(outcomes[1].code(), Code::kAlreadyExists);
  EXPECT_TRUE(outcomes[2].ok()) << outcomes[2].message();
  EXPECT_EQ(group.size(), 0u);
  EXPECT_EQ(Bytes(store, "a/new"), "12345");
  EXPECT_EQ(Bytes(store, "taken"), "theirs");
  EXPECT_EQ(Bytes(store, "old"), "replaced");
}

TEST(ObjectGroupTest, ObjectsOfADirectoryAppearTogetherAndOneThatFailsStopsNoOther) {
  const TempDir dir;
  LocalStore store(dir / "objects");
  CommitsTogether(store);
}

TEST(ObjectGroupTest, SoDoObjectsInMemory) {
  MemoryStore store;
  CommitsTogether(store);
}

TEST(ObjectGroupTest, SmallObjectsBecomeOneBundleAndOthersFilesOfTheirOwn) {
  const TempDir dir;
  LocalStore files(dir / "objects");
  BundleStore store(std::make_unique<LocalStore>(dir / "objects"));
  CommitsTogether(store);
  ObjectGroup group;
  const std::unique_ptr<Store> joined = group.Join(store);
  const std::string large((256 << 10) + 1, 'x');
  ASSERT_TRUE(WriteObject(*joined, "large", large, Condition::ReplaceAny()).ok());
  ASSERT_TRUE(WriteObject(*joined, "small", "12345", Condition::ReplaceAny()).ok());
  ASSERT_TRUE(WriteObject(*joined, "new", "12", Condition::CreateOnly()).ok());
  ASSERT_TRUE(WriteObject(*joined, "tiny", "", Condition::ReplaceAny()).ok());
  for (const Status& outcome : group.Commit()) EXPECT_TRUE(outcome.ok()) << outcome.message();
  EXPECT_EQ(Bytes(files, "large"), large);
  EXPECT_EQ(Bytes(files, "new"), "12");
  EXPECT_FALSE(files.Stat("small")->has_value());
  EXPECT_EQ(Bytes(store, "small"), "12345");
  EXPECT_EQ(Bytes(store, "tiny"), "");
}

TEST(ObjectGroupTest, HoldsFourMebibytesAtMost) {
  const TempDir dir;
  LocalStore files(dir / "objects");
  BundleStore store(std::make_unique<LocalStore>(dir / "objects"));
  ObjectGroup group;
  const std::unique_ptr<Store> joined = group.Join(store);
  for (int round = 0; round < 2; ++round) {
    for (int number = 0; number < 20; ++number)
      ASSERT_TRUE(WriteObject(*joined, StrCat("o", round, "-", number), std::string(256 << 10, 'x'),
                              Condition::ReplaceAny())
                      .ok());
    for (const Status& outcome : group.Commit()) EXPECT_TRUE(outcome.ok()) << outcome.message();
  }
  EXPECT_EQ(files.List("")->size(), 2u * (1 + 4));  // 16 are in the bundle
  EXPECT_EQ(store.List("")->size(), 40u);
}

TEST(ObjectGroupTest, WithoutCommitNothingIsLeft) {
  const TempDir dir;
  LocalStore store(dir / "objects");
  {
    ObjectGroup group;
    const std::unique_ptr<Store> joined = group.Join(store);
    ASSERT_TRUE(WriteObject(*joined, "new", "bytes", Condition::ReplaceAny()).ok());
  }
  EXPECT_TRUE(std::filesystem::is_empty(dir / "objects"));
}

}  // namespace
}  // namespace pipeline
