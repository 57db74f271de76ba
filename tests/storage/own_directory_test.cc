#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "storage/directory.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

std::string Why(const std::string& path) {
  const Status status = MakeOwnDirectory(path);
  EXPECT_EQ(status.code(), Code::kPermissionDenied) << status.message();
  return std::string(status.message());
}

unsigned Mode(const std::string& path) {
  struct stat found;
  EXPECT_EQ(lstat(path.c_str(), &found), 0);
  return found.st_mode & 07777;
}

TEST(OwnDirectoryTest, IsMadeForItsOwnerAloneAndTakenAgain) {
  const TempDir dir;
  const std::string path = dir / "above/own";
  ASSERT_TRUE(MakeOwnDirectory(path).ok());
  EXPECT_EQ(Mode(path), 0700u);
  WriteFile(path + "/kept", "x");
  ASSERT_TRUE(MakeOwnDirectory(path).ok());
  EXPECT_EQ(ReadFile(path + "/kept"), "x");
}

TEST(OwnDirectoryTest, OneThatOthersMayReadIsTaken) {
  const TempDir dir;
  ASSERT_EQ(mkdir((dir / "own").c_str(), 0755), 0);
  EXPECT_TRUE(MakeOwnDirectory(dir / "own").ok());
}

TEST(OwnDirectoryTest, OneThatOthersMayWriteToIsRefused) {
  const TempDir dir;
  const std::string path = dir / "own";
  ASSERT_EQ(mkdir(path.c_str(), 0700), 0);
  for (const mode_t mode : {0770u, 01777u, 0702u}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    EXPECT_EQ(Why(path),
              path +
                  ": can be written to by other users: nothing is put there; look at what is in it, then: "
                  "chmod go-w " +
                  path);
  }
}

TEST(OwnDirectoryTest, LinksAndFilesAreRefused) {
  const TempDir dir;
  std::filesystem::create_directory(dir / "real");
  std::filesystem::create_directory_symlink(dir / "real", dir / "link");
  std::filesystem::create_symlink(dir / "nowhere", dir / "dangling");
  WriteFile(dir / "file", "x");
  for (const char* name : {"link", "dangling", "file"})
    EXPECT_EQ(Why(dir / name), dir / name +
                                   ": is a link or a file, and no directory: nothing is put there; remove "
                                   "it, or name another directory with TMPDIR");
  EXPECT_TRUE(std::filesystem::is_empty(dir / "real"));
}

TEST(OwnDirectoryTest, OneOfAnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "who is not root cannot give a directory away";
  const TempDir dir;
  const std::string path = dir / "own";
  ASSERT_EQ(mkdir(path.c_str(), 0700), 0);
  ASSERT_EQ(chown(path.c_str(), 65534, 65534), 0);
  EXPECT_EQ(Why(path),
            path +
                ": belongs to another user (65534; this one is 0): nothing is put there; name another "
                "directory with TMPDIR");
}

}  // namespace
}  // namespace pipeline
