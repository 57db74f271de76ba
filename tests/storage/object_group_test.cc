#include "storage/object_group.h"

#include <gtest/gtest.h>

#include <string>

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
