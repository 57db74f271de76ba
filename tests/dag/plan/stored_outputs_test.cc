// Which of the objects that a manifest or the log names exist.
#include "dag/plan/stored_outputs.h"

#include <gtest/gtest.h>

#include <string>

#include "base/crc32c.h"
#include "dag/books/manifest.h"
#include "storage/forwarding_store.h"
#include "storage/local_store.h"
#include "storage/memory_store.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

StoredObject Described(std::string_view bytes) {
  return {"a.tfrecord", bytes.size(), Crc32c(bytes), DigestOf(bytes)};
}

/// Publishes an artifact of one shard whose bytes are `written`, where `found` lies now.
Snapshot::Published Publish(Store& store, std::string_view written, std::string_view found) {
  Manifest manifest;
  manifest.lineage = {LineageStage()};
  manifest.lineage.front().stage = "text";
  manifest.lineage.front().config = Json::Object{};
  manifest.lineage.front().recipe = DigestOf("recipe");
  manifest.shards = {{"train", 0, 1, 1, Described(written)}};
  EXPECT_TRUE(WriteObject(store, "a.tfrecord", found, Condition::ReplaceAny()).ok());
  EXPECT_TRUE(WriteObject(store, kManifestName, EncodeManifest(manifest), Condition::ReplaceAny()).ok());
  Environment environment;
  environment.open_store = [&store](const std::string&) -> Result<std::unique_ptr<Store>> {
    return std::unique_ptr<Store>(std::make_unique<ForwardingStore>(store));
  };
  Result<Snapshot::Published> published = PublishedAt(environment, "gs://shelf/out");
  EXPECT_TRUE(published.ok()) << published.status().message();
  EXPECT_TRUE(published->damaged.ok()) << published->damaged.message();
  return published.ok() ? *std::move(published) : Snapshot::Published();
}

TEST(StoredOutputsTest, AnotherObjectOfTheSameSizeIsNotThatOfTheManifest) {
  MemoryStore bucket;
  EXPECT_TRUE(Publish(bucket, "abc", "abc").whole);
  const Snapshot::Published replaced = Publish(bucket, "abc", "abd");
  EXPECT_FALSE(replaced.whole);
  EXPECT_EQ(replaced.missing, "a.tfrecord");
  EXPECT_FALSE(Publish(bucket, "abc", "ab").whole);
}

TEST(StoredOutputsTest, WithoutAChecksumTheSizeDecides) {
  const TempDir dir;
  LocalStore directory(dir / "out");
  EXPECT_TRUE(Publish(directory, "abc", "abd").whole);
  EXPECT_FALSE(Publish(directory, "abc", "ab").whole);
  const StoredObject object = Described("abc");
  EXPECT_TRUE(object.IsAt({"a.tfrecord", 3, "1", {}}));
  EXPECT_TRUE(object.IsAt({"a.tfrecord", 3, "1", object.crc32c}));
  EXPECT_FALSE(object.IsAt({"a.tfrecord", 3, "1", object.crc32c ^ 1}));
  EXPECT_FALSE(object.IsAt({"a.tfrecord", 4, "1", object.crc32c}));
}

}  // namespace
}  // namespace pipeline
