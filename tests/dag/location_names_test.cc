#include "dag/location/location_names.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "storage/memory_store.h"
#include "tests/support/built_tree.h"
#include "tests/support/fault_store.h"

namespace pipeline {
namespace {

using Names = std::vector<std::string>;

constexpr std::string_view kExample =
    "# pipe names v1\n"
    "\"train-00000-of-00002.tfrecord\"\n"
    "\"train-00001-of-00002.tfrecord\"\n"
    "# 2 names, 29f1c717aefaacc8b7ff78a0ac79e0f1\n";

std::unique_ptr<LocationNames> ListOf(Store& out) {
  Result<std::unique_ptr<LocationNames>> list = LocationNames::Read(out, out.List("").value());
  EXPECT_TRUE(list.ok()) << list.status().message();
  return std::move(list).value();
}

Names Below(Store& out, std::string_view prefix) {
  Names names;
  for (const ObjectInfo& object : out.List(prefix).value()) names.push_back(object.name);
  return names;
}

void Write(Store& out, const std::string& name) {
  ASSERT_TRUE(WriteObject(out, name, "bytes of " + name, Condition::ReplaceAny()).ok());
}

TEST(LocationNamesTest, WhatWasAddedIsReadBack) {
  MemoryStore out;
  const auto list = ListOf(out);
  EXPECT_FALSE(list->complete()) << "there is no list";
  ASSERT_TRUE(list->Add({"b", "a \"quoted\"\nname", "日本"}).ok());
  ASSERT_TRUE(list->Add({"c"}).ok());
  const auto again = ListOf(out);
  EXPECT_TRUE(again->complete());
  for (const char* name : {"b", "a \"quoted\"\nname", "日本", "c"}) EXPECT_TRUE(again->Has(name)) << name;
  EXPECT_FALSE(again->Has("d"));
  const Names parts = Below(out, kNamesPrefix);
  EXPECT_EQ(parts.size(), 2u);
  ASSERT_TRUE(again->Add({"b", "c"}).ok());
  EXPECT_EQ(Below(out, kNamesPrefix), parts) << "all are listed";
}

TEST(LocationNamesTest, APartIsAsThePageSays) {
  MemoryStore out;
  ASSERT_TRUE(ListOf(out)->Add({"train-00001-of-00002.tfrecord", "train-00000-of-00002.tfrecord"}).ok());
  EXPECT_EQ(ReadObject(out, Below(out, kNamesPrefix).at(0), 1000).value(), kExample);
  std::ifstream page(SourceDir() + "/dag/location/location_names.md");
  const std::string text((std::istreambuf_iterator<char>(page)), std::istreambuf_iterator<char>());
  EXPECT_NE(text.find(kExample), std::string::npos);
}

TEST(LocationNamesTest, ADamagedPartNamesNothingAndNothingElseIsLost) {
  for (std::size_t at = 0; at <= kExample.size(); ++at) {
    MemoryStore out;
    ASSERT_TRUE(ListOf(out)->Add({"other"}).ok());
    std::string damaged(kExample);
    if (at < damaged.size())
      damaged[at] = static_cast<char>(damaged[at] ^ 1);
    else
      damaged.resize(damaged.size() / 2);
    ASSERT_TRUE(WriteObject(out, ".pipe/names/0-0", damaged, Condition::CreateOnly()).ok());
    Write(out, "train-00000-of-00002.tfrecord");
    const auto list = ListOf(out);
    EXPECT_FALSE(list->complete()) << at;
    EXPECT_FALSE(list->Has("train-00000-of-00002.tfrecord")) << at;
    EXPECT_TRUE(list->Has("other")) << at;
    ASSERT_TRUE(list->RemoveOthers({"other"}, [](std::string_view) {}).ok());
    EXPECT_TRUE(out.Stat("train-00000-of-00002.tfrecord")->has_value()) << at;
    EXPECT_TRUE(ListOf(out)->complete()) << at << ": the damaged part is gone";
  }
}

TEST(LocationNamesTest, OnlyWhatIsListedIsRemoved) {
  MemoryStore out;
  for (const char* name :
       {"kept", "left", "NOTES.md", "my_model/weights", "below/MANIFEST.json", "below/left"})
    Write(out, name);
  ASSERT_TRUE(ListOf(out)->Add({"kept", "left", "below/left", "never made"}).ok());
  Names told;
  ASSERT_TRUE(
      ListOf(out)->RemoveOthers({"kept"}, [&told](std::string_view name) { told.emplace_back(name); }).ok());
  EXPECT_EQ(told, Names{"left"});
  EXPECT_FALSE(out.Stat("left")->has_value());
  for (const char* name : {"kept", "NOTES.md", "my_model/weights", "below/left"})
    EXPECT_TRUE(out.Stat(name)->has_value()) << name;
  const auto list = ListOf(out);
  EXPECT_TRUE(list->complete() && list->Has("kept") && !list->Has("left") && !list->Has("never made"));
  EXPECT_EQ(Below(out, kNamesPrefix).size(), 1u);
}

TEST(LocationNamesTest, ANameIsListedUntilItsObjectIsGone) {
  for (const FaultStore::Call call : {FaultStore::Call::kCommit, FaultStore::Call::kRemove})
    for (int at = 1; at <= 3; ++at) {
      MemoryStore disk;
      for (const char* name : {"a", "b", "c"}) Write(disk, name);
      ASSERT_TRUE(ListOf(disk)->Add({"a", "b", "c"}).ok());
      FaultStore out(disk);
      const auto list = ListOf(out);
      out.CutPowerAt(call, at);
      (void)list->RemoveOthers({"a"}, [](std::string_view) {});
      for (const char* name : {"a", "b", "c"})
        EXPECT_TRUE(ListOf(disk)->Has(name) || !disk.Stat(name)->has_value()) << at << ": " << name;
    }
}

TEST(LocationNamesTest, AListedStoreListsANameBeforeItsObject) {
  MemoryStore disk;
  FaultStore out(disk);
  const auto list = ListOf(out);
  const std::unique_ptr<Store> listed = ListedStore(out, *list);
  out.CutPowerAt(FaultStore::Call::kCommit, 2);
  EXPECT_FALSE(WriteObject(*listed, "model", "bytes", Condition::CreateOnly()).ok());
  EXPECT_FALSE(disk.Stat("model")->has_value());
  EXPECT_TRUE(ListOf(disk)->Has("model"));
}

}  // namespace
}  // namespace pipeline
