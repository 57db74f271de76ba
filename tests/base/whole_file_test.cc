#include "base/whole_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

TEST(WholeFileTest, IsReadAndReplacedWhole) {
  const TempDir dir;
  const std::string path = dir / "file";
  EXPECT_EQ(ReadWholeFile(path).status().code(), Code::kNotFound);
  for (const Durability durability : {Durability::kSeen, Durability::kDurable})
    for (const std::string& bytes : {std::string(3 << 20, 'x'), std::string("short\0er", 8), std::string()}) {
      ASSERT_TRUE(WriteWholeFile(path, bytes, durability).ok());
      EXPECT_EQ(ReadWholeFile(path).value(), bytes);
    }
  EXPECT_FALSE(std::filesystem::exists(path + ".part"));
}

TEST(WholeFileTest, AFailedWriteLeavesTheOldBytes) {
  const TempDir dir;
  const std::string path = dir / "file";
  ASSERT_TRUE(WriteWholeFile(path, "old", Durability::kSeen).ok());
  std::filesystem::create_directory(path + ".part");  // the way is blocked
  EXPECT_FALSE(WriteWholeFile(path, "new", Durability::kSeen).ok());
  EXPECT_EQ(ReadWholeFile(path).value(), "old");
  EXPECT_FALSE(WriteWholeFile(dir / "none/file", "new", Durability::kSeen).ok());
  std::filesystem::create_directory(dir / "place");
  std::filesystem::create_directory(dir / "place/inner");
  EXPECT_FALSE(WriteWholeFile(dir / "place", "new", Durability::kSeen).ok()) << "a directory has the name";
  EXPECT_FALSE(std::filesystem::exists(dir / "place.part"));
}

}  // namespace
}  // namespace pipeline
