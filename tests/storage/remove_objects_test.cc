#include <gtest/gtest.h>

#include "storage/memory_store.h"
#include "storage/store.h"
#include "tests/support/counting_store.h"

namespace pipeline {
namespace {

TEST(RemoveObjectsTest, EachObjectIsRemovedOnceAndTheOthersStay) {
  for (const std::size_t count : {0, 1, 16, 17, 100, 1000, 3001}) {
    MemoryStore memory;
    std::vector<ObjectInfo> objects;
    for (std::size_t at = 0; at < count; ++at)
      objects.push_back(*WriteObject(memory, "gone/" + std::to_string(at), "a", Condition::CreateOnly()));
    ASSERT_TRUE(WriteObject(memory, "stays", "a", Condition::CreateOnly()).ok());
    CountingStore store(memory);
    ASSERT_TRUE(RemoveObjects(store, objects).ok());
    EXPECT_EQ(store.removed_objects, count);
    EXPECT_LE(store.removals, std::max<std::size_t>(count / 16, 1)) << "one request for at least sixteen";
    EXPECT_EQ(memory.List("")->size(), 1u) << count;
    EXPECT_TRUE(RemoveObjects(store, objects).ok()) << "what is gone is no failure";
  }
}

TEST(RemoveObjectsTest, AFailureIsReported) {
  MemoryStore store;
  const std::vector<ObjectInfo> objects = {ObjectInfo::Any("a"), ObjectInfo::Any("../b")};
  EXPECT_EQ(RemoveObjects(store, objects).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace pipeline
