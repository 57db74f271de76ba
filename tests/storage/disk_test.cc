#include <gtest/gtest.h>

#include "storage/directory.h"
#include "storage/local_file.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

TEST(DiskTest, FreeBytesOfWhatIsNotThereYetAreThoseOfItsParent) {
  TempDir dir;
  const Result<std::uint64_t> free = FreeBytes(dir / "not/yet/there");
  ASSERT_TRUE(free.ok()) << free.status().message();
  EXPECT_GT(*free, 0u);
  EXPECT_TRUE(FreeBytes("relative/not/there").ok());
}

TEST(DiskTest, TellsFileSystemsApart) {
  TempDir dir;
  EXPECT_TRUE(SameFileSystem(dir / "a", dir / "b/c").value());
  EXPECT_FALSE(SameFileSystem(dir / "a", "/proc").value());
}

TEST(LocalFileTest, RefusesWhatIsNoFile) {
  TempDir dir;
  EXPECT_EQ(LocalFile::Open(dir / "absent").status().code(), Code::kNotFound);
  EXPECT_EQ(LocalFile::Open(dir.path().string()).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(LocalFile::Open("/dev/null").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(IdentifyFile(dir / "absent").status().code(), Code::kNotFound);
}

TEST(LocalFileTest, IdentityShowsARewrite) {
  TempDir dir;
  WriteFile(dir / "a", "12345");
  const Result<FileIdentity> before = IdentifyFile(dir / "a");
  ASSERT_TRUE(before.ok());
  EXPECT_EQ(before->size, 5u);
  EXPECT_EQ(*IdentifyFile(dir / "a"), *before);
  WriteFile(dir / "b", "54321");
  std::filesystem::rename(dir / "b", dir / "a");
  EXPECT_FALSE(*IdentifyFile(dir / "a") == *before);
}

}  // namespace
}  // namespace pipeline
