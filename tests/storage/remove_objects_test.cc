#include "storage/remove_objects.h"

#include <gtest/gtest.h>

#include "storage/memory_store.h"
#include "tests/support/counting_store.h"

namespace pipeline {
namespace {

TEST(RemoveObjectsTest, EachNameIsRemovedOnceAndTheOthersStay) {
  for (const std::size_t count : {0, 1, 16, 17, 1000, 3001}) {
    MemoryStore memory;
    std::vector<std::string> names;
    for (std::size_t at = 0; at < count; ++at) {
      names.push_back("gone/" + std::to_string(at));
      ASSERT_TRUE(WriteObject(memory, names.back(), "a", Condition::CreateOnly()).ok());
    }
    ASSERT_TRUE(WriteObject(memory, "stays", "a", Condition::CreateOnly()).ok());
    CountingStore store(memory);
    ASSERT_TRUE(RemoveObjects(store, names).ok());
    EXPECT_EQ(store.removals, count);
    EXPECT_EQ(memory.List("")->size(), 1u) << count;
    EXPECT_TRUE(RemoveObjects(store, names).ok()) << "what is gone is no failure";
  }
}

TEST(RemoveObjectsTest, AFailureIsReported) {
  MemoryStore store;
  const std::vector<std::string> names = {"a", "../b"};
  EXPECT_EQ(RemoveObjects(store, names).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace pipeline
