#include "base/file_lock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

class FileLockTest : public testing::Test {
 protected:
  FileDescriptor Open() const {
    return FileDescriptor(open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  }

  TempDir directory_;
  const std::string path_ = directory_ / "lock";
};

TEST_F(FileLockTest, OneDescriptorHasItAlone) {
  FileDescriptor first = Open();
  const FileDescriptor second = Open();
  ASSERT_EQ(TryLock(first, LockKind::kAlone), FileLock::kHeld);
  EXPECT_EQ(TryLock(second, LockKind::kAlone), FileLock::kTaken);
  EXPECT_EQ(TryLock(second, LockKind::kShared), FileLock::kTaken);
  first = FileDescriptor();
  EXPECT_EQ(TryLock(second, LockKind::kAlone), FileLock::kHeld);
}

TEST_F(FileLockTest, SharersKeepOutOneThatWantsItAlone) {
  const FileDescriptor first = Open(), second = Open(), third = Open();
  EXPECT_EQ(TryLock(first, LockKind::kShared), FileLock::kHeld);
  EXPECT_EQ(TryLock(second, LockKind::kShared), FileLock::kHeld);
  EXPECT_EQ(TryLock(third, LockKind::kAlone), FileLock::kTaken);
}

TEST_F(FileLockTest, UnlockEndsItAlthoughACopyOfTheDescriptorIsOpen) {
  const FileDescriptor first = Open(), second = Open();
  ASSERT_EQ(TryLock(first, LockKind::kAlone), FileLock::kHeld);
  const FileDescriptor copy(dup(first.get()));  // as in a forked child
  Unlock(first);
  EXPECT_EQ(TryLock(second, LockKind::kAlone), FileLock::kHeld);
}

TEST_F(FileLockTest, WhatIsNoFileCannotBeLocked) {
  EXPECT_EQ(TryLock(FileDescriptor(), LockKind::kAlone), FileLock::kUnsupported);
}

TEST_F(FileLockTest, AFileThatWasReplacedIsNoLongerAtItsName) {
  const FileDescriptor first = Open();
  EXPECT_TRUE(IsStillAt(first, path_));
  ASSERT_EQ(std::remove(path_.c_str()), 0);
  EXPECT_FALSE(IsStillAt(first, path_));
  const FileDescriptor second = Open();
  EXPECT_FALSE(IsStillAt(first, path_));
  EXPECT_TRUE(IsStillAt(second, path_));
}

}  // namespace
}  // namespace pipeline
