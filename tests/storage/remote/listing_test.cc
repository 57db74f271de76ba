#include "storage/remote/listing.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "base/str.h"
#include "tests/support/fake_gcs.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

class ListingTest : public testing::Test {
 protected:
  std::vector<std::string> List(const std::string& location, ListDepth depth) {
    std::vector<std::string> places;
    const Status listed =
        ListLocation(stores_, location, depth,
                     [&](const Listed& one) {
                       places.push_back(StrCat(one.location, one.no_object.empty() ? "" : " is none"));
                       return Status();
                     },
                     {});
    if (!listed.ok()) places.emplace_back(CodeName(listed.code()));
    return places;
  }

  static StoreOptions Options(const std::string& url) {
    StoreOptions options;
    options.environment = [url](const std::string& name) {
      return name == "STORAGE_EMULATOR_HOST" ? std::optional(url) : std::nullopt;
    };
    return options;
  }

  using Places = std::vector<std::string>;
  TempDir directory_;
  FakeGcs fake_;
  StoreOpener stores_{Options(fake_.url())};
};

TEST_F(ListingTest, LeavesOutWhatIsNoObject) {
  const std::string root = directory_ / "d";
  std::filesystem::create_directories(root + "/sub");
  WriteFile(root + "/.a.tmp.01234567-1-1", "half-written");
  WriteFile(root + "/a", "whole");
  std::filesystem::create_directory_symlink(root + "/sub", root + "/link");
  std::filesystem::create_symlink(root + "/a", root + "/b");
  EXPECT_EQ(List(root, ListDepth::kLevel),
            Places({root + "/a", root + "/b", root + "/link is none", root + "/sub/"}));
  EXPECT_EQ(List(root, ListDepth::kAll), Places({root + "/a", root + "/b", root + "/link is none"}));
  EXPECT_EQ(List(root + "/sub", ListDepth::kLevel), Places());

  fake_.objects().SetBucket("shelf", {});
  for (const char* name : {"d/", "d//a", "d/.a.tmp.01234567-1-1", "d/a", "d/b/c"})
    fake_.Put("shelf", name, "x");
  fake_.Put("shelf", "d/mark/", "");
  const std::string slash = "gs://shelf/d/ is none";  // it has bytes, and marks no directory
  EXPECT_EQ(
      List("gs://shelf/d", ListDepth::kLevel),
      Places({slash, "gs://shelf/d// is none", "gs://shelf/d/a", "gs://shelf/d/b/", "gs://shelf/d/mark/"}));
  EXPECT_EQ(List("gs://shelf/d", ListDepth::kAll),
            Places({slash, "gs://shelf/d//a is none", "gs://shelf/d/a", "gs://shelf/d/b/c"}));
}

TEST_F(ListingTest, AnObjectAndADirectoryMayHaveOneName) {
  fake_.objects().SetBucket("shelf", {});
  for (const char* name : {"a", "a/b", "ab"}) fake_.Put("shelf", name, "x");
  EXPECT_EQ(List("gs://shelf/a", ListDepth::kAll), Places({"gs://shelf/a", "gs://shelf/a/b"}));
  EXPECT_EQ(List("gs://shelf/a/", ListDepth::kAll), Places({"gs://shelf/a/b"}));
  EXPECT_EQ(List("gs://shelf/ab", ListDepth::kLevel), Places({"gs://shelf/ab"}));
  EXPECT_EQ(List("gs://shelf/ab/", ListDepth::kLevel), Places({"not_found"}));
  EXPECT_EQ(List("gs://shelf", ListDepth::kLevel),
            Places({"gs://shelf/a", "gs://shelf/a/", "gs://shelf/ab"}));
}

TEST_F(ListingTest, AVisitorEndsIt) {
  fake_.objects().SetBucket("shelf", {});
  for (const char* name : {"a", "b"}) fake_.Put("shelf", name, "x");
  int visited = 0;
  const auto enough = [&](const Listed&) { return Status(Code::kCancelled, StrCat("after ", ++visited)); };
  EXPECT_EQ(ListLocation(stores_, "gs://shelf", ListDepth::kAll, enough, {}).message(), "after 1");
}

}  // namespace
}  // namespace pipeline
