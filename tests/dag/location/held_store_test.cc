#include "dag/location/held_store.h"

#include <gtest/gtest.h>

#include "storage/forwarding_store.h"
#include "storage/memory_store.h"

namespace pipeline {
namespace {

struct HeldStoreTest : testing::Test {
  std::vector<ObjectInfo> Write(int count) {
    std::vector<ObjectInfo> objects;
    for (int at = 0; at < count; ++at)
      objects.push_back(*WriteObject(memory, std::to_string(at), "a", Condition::CreateOnly()));
    return objects;
  }

  MemoryStore memory;
  int checks = 0, good_checks = 1'000'000;
  const std::unique_ptr<Store> store =
      HoldStore(std::make_unique<ForwardingStore>(memory), [this](std::stop_token) {
        return ++checks > good_checks ? Status(Code::kFailedPrecondition, "lost") : Status();
      });
};

TEST_F(HeldStoreTest, NothingIsRemovedOnceTheLocationIsLost) {
  const std::vector<ObjectInfo> objects = Write(250);
  good_checks = 2;
  int told = 0;
  const Status removed = store->RemoveAll(objects, [&told] { return ++told > 0; });
  EXPECT_EQ(removed.code(), Code::kFailedPrecondition);
  EXPECT_EQ(told, 200) << "a check for each hundred";
  EXPECT_EQ(memory.List("")->size(), 50u);
  EXPECT_EQ(store->Remove("249").code(), Code::kFailedPrecondition);
  EXPECT_EQ(memory.List("")->size(), 50u);
}

TEST_F(HeldStoreTest, ARemovalEndsWhereItIsToldTo) {
  const std::vector<ObjectInfo> objects = Write(250);
  int told = 0;
  EXPECT_TRUE(store->RemoveAll(objects, [&told] { return ++told < 120; }).ok());
  EXPECT_EQ(memory.List("")->size(), 130u);
  EXPECT_EQ(checks, 2);
}

TEST_F(HeldStoreTest, ReadingChecksNothing) {
  const std::vector<ObjectInfo> objects = Write(1);
  EXPECT_EQ(ReadObject(*store, objects[0], 10).value(), "a");
  EXPECT_EQ(checks, 0);
}

}  // namespace
}  // namespace pipeline
