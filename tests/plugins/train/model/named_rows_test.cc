#include "plugins/train/model/named_rows.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/crc32c.h"
#include "base/json.h"
#include "base/str.h"
#include "plugins/train/file_facts.h"
#include "storage/memory_store.h"
#include "storage/store.h"
#include "tests/plugins/train/storage_call.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

namespace fs = std::filesystem;

/// An artifact of write_bert in a directory, and the same in a bucket.
class NamedRowsTest : public testing::Test {
 protected:
  NamedRowsTest() : call_(store_) {
    fs::create_directories(root_ / "pairs");
    Add("sidecars", "bert.json", R"({"max_seq_length": 128})");
    Add("sidecars", "bert_config.json", "{}");
    Add("sidecars", "vocab.txt", "[PAD]\n");
    Add("shards", "train-00000-of-00001.tfrecord", "rows", "train");
    Add("shards", "validation-00000-of-00001.tfrecord", "held", "validation");
    Put("MANIFEST.json", manifest_.Dump());
  }

  void Add(const char* list, const std::string& name, const std::string& bytes,
           const std::string& split = {}) {
    Json entry;
    entry["object"] = name;
    entry["bytes"] = bytes.size();
    entry["crc32c"] = ShownCrc({name, bytes.size(), Crc32c(bytes)});
    if (!split.empty()) entry["split"] = split, entry["records"] = 1;
    manifest_[list].Append(entry);
    Put(name, bytes);
  }
  void Put(const std::string& name, const std::string& bytes) {
    WriteFile(StrCat(root_ / "pairs/", name), bytes);
    EXPECT_TRUE(WriteObject(store_, "pairs/" + name, bytes, Condition::ReplaceAny()).ok());
  }
  Result<std::string> Find(const std::string& place, const std::string& split = kScoredSplit) {
    return FindRows(place, {split}, root_ / "cache", call_.call());
  }

  TempDir root_;
  MemoryStore store_;
  StorageCall call_;
  Json manifest_;
};

TEST_F(NamedRowsTest, PairsOfADirectoryAreComparedWithTheirManifest) {
  const std::string place = root_ / "pairs";
  const Result<std::string> found = Find(place);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(*found, place);
  EXPECT_EQ(Find(place, "test").status().message(),
            StrCat(place, ": has no split 'test'; it has train, validation: name one with --split"));
  WriteFile(root_ / "pairs/validation-00000-of-00001.tfrecord", "hell");
  EXPECT_EQ(Find(place).status().code(), Code::kDataLoss);
}

TEST_F(NamedRowsTest, PairsOfABucketComeHereWithWhatDescribesThem) {
  const Result<std::string> found = Find("gs://bkt/pairs/");
  ASSERT_TRUE(found.ok()) << found.status().message();
  for (const char* name : {"bert.json", "vocab.txt", "validation-00000-of-00001.tfrecord", "MANIFEST.json"})
    EXPECT_TRUE(fs::exists(fs::path(*found) / name)) << name;
  EXPECT_FALSE(fs::exists(fs::path(*found) / "train-00000-of-00001.tfrecord"));
}

TEST_F(NamedRowsTest, APlaceOfNeitherKindIsNamed) {
  fs::remove(root_ / "pairs/bert.json");
  const Status none = Find(root_ / "pairs").status();
  EXPECT_EQ(none.code(), Code::kNotFound);
  EXPECT_NE(none.message().find("neither packed.json nor bert.json is there; name the location that a stage "
                                "`write_packed` or `write_bert` published to"),
            std::string_view::npos)
      << none.message();
}

}  // namespace
}  // namespace pipeline
