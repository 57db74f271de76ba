#include "storage/memory_store.h"

#include "base/crc32c.h"
#include "tests/storage/store_conformance.h"

namespace pipeline {
namespace {

class MemoryBackend {
 public:
  Store& store() { return store_; }

 private:
  MemoryStore store_;
};
INSTANTIATE_TYPED_TEST_SUITE_P(Memory, StoreReading, MemoryBackend);
INSTANTIATE_TYPED_TEST_SUITE_P(Memory, StoreConformance, MemoryBackend);

TEST(MemoryStoreTest, KnowsTheCrcOfAnObject) {
  MemoryStore store;
  ASSERT_TRUE(WriteObject(store, "a", "123456789", {}).ok());
  const auto stat = store.Stat("a");
  ASSERT_TRUE(stat.ok() && stat->has_value());
  EXPECT_EQ((*stat)->crc32c, Crc32c("123456789"));
}

TEST(MemoryStoreTest, FilesAndWritersOutliveTheStore) {
  auto store = std::make_unique<MemoryStore>();
  ASSERT_TRUE(WriteObject(*store, "a", "bytes", {}).ok());
  const auto file = store->Open("a");
  const auto writer = store->Create("b", {});
  ASSERT_TRUE(file.ok() && writer.ok());
  store.reset();
  EXPECT_EQ(BytesFrom(**file, 0), "bytes");
  EXPECT_TRUE((*writer)->Commit().ok());
}

}  // namespace
}  // namespace pipeline
