#include "storage/kept_part.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <functional>

#include "storage/local_names.h"
#include "storage/local_store.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

namespace fs = std::filesystem;

class KeptPartTest : public testing::Test {
 protected:
  std::size_t Files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(dir_.path()), {}));
  }
  void Leave(const std::string& path, int days) const {
    for (const std::string& one : {path, path + ".json"}) {
      WriteFile(one, "x");
      fs::last_write_time(one, fs::file_time_type::clock::now() - std::chrono::hours(24 * days));
    }
  }

  TempDir dir_;
  const std::string path_ = KeptPartPath(dir_ / "big");
};

TEST_F(KeptPartTest, IsNamedByTheWholeNameOfItsObject) {
  const std::string front(200, 'x');
  EXPECT_NE(KeptPartName(front + "1"), KeptPartName(front + "2"));
  EXPECT_EQ(KeptPartName("a"), KeptPartName("a"));
  for (const std::string& object : {std::string("a"), std::string("b.tmp.c"), std::string(255, 'y')}) {
    for (const std::string& name : {KeptPartName(object), KeptPartName(object) + ".json"}) {
      EXPECT_LE(name.size(), 255u);
      EXPECT_EQ(ParseKeptPart(name), object.substr(0, 200)) << name;
      EXPECT_FALSE(ParseTemporaryName(name)) << name;
      EXPECT_TRUE(IsUnfinishedName(name)) << name;
      EXPECT_FALSE(CheckLocalName("d/" + name).ok()) << name;
    }
  }
  for (const char* name : {"", ".json", "a.tmp.part-0123456789abcdef", ".a.tmp.part-0123456789abcde",
                           ".a.tmp.part-0123456789abcdeF", "..tmp.part-0123456789abcdef", ".a.tmp.part-"})
    EXPECT_FALSE(ParseKeptPart(name)) << name;
}

TEST_F(KeptPartTest, IsNoObject) {
  Leave(path_, 0);
  LocalStore store(dir_.path());
  EXPECT_TRUE(store.List("")->empty());
  EXPECT_FALSE(store.Stat(KeptPartName("big")).ok());
}

TEST_F(KeptPartTest, OneAtATimeHasIt) {
  {
    const Result<FileDescriptor> one = OpenKeptPart(path_);
    ASSERT_TRUE(one.ok()) << one.status().message();
    const Status second = OpenKeptPart(path_).status();
    EXPECT_NE(second.Detail<PartIsTaken>(), nullptr) << second.message();
    ASSERT_TRUE(RemoveKeptPart(path_).ok());
    EXPECT_TRUE(fs::exists(path_)) << "somebody works at it";
  }
  EXPECT_TRUE(OpenKeptPart(path_).ok());
  ASSERT_TRUE(RemoveKeptPart(path_).ok());
  EXPECT_EQ(Files(), 0u);
  EXPECT_TRUE(RemoveKeptPart(path_).ok());
}

TEST_F(KeptPartTest, WhatWasPublishedIsNotWrittenTo) {
  WriteFile(path_, "bytes");
  fs::create_hard_link(path_, dir_ / "big");
  const Result<FileDescriptor> part = OpenKeptPart(path_);
  ASSERT_TRUE(part.ok()) << part.status().message();
  struct stat found;
  ASSERT_EQ(fstat(part->get(), &found), 0);
  EXPECT_EQ(found.st_size, 0);
  EXPECT_EQ(ReadFile(dir_ / "big"), "bytes");
}

TEST_F(KeptPartTest, WhatIsNoFileIsLeftAlone) {
  WriteFile(dir_ / "else", "bytes");
  fs::create_symlink(dir_ / "else", path_);
  EXPECT_NE(OpenKeptPart(path_).status().Detail<PartIsTaken>(), nullptr);
  fs::remove(path_);
  fs::create_directory(path_);
  EXPECT_NE(OpenKeptPart(path_).status().Detail<PartIsTaken>(), nullptr);
  EXPECT_EQ(ReadFile(dir_ / "else"), "bytes");
}

TEST_F(KeptPartTest, SweepRemovesWhatIsSixDaysOld) {
  LocalStore store(dir_.path());
  const auto sweep_store = [&] { return store.Sweep("b"); };
  const auto sweep_directory = [&] { return SweepDirectory(dir_.path()); };
  for (const std::function<Status()>& sweep : {std::function<Status()>(sweep_store), {sweep_directory}}) {
    Leave(path_, 5);
    ASSERT_TRUE(sweep().ok());
    EXPECT_EQ(Files(), 2u);
    Leave(path_, 7);
    {
      const Result<FileDescriptor> held = OpenKeptPart(path_);
      ASSERT_TRUE(held.ok() && sweep().ok());
      EXPECT_EQ(Files(), 2u) << "somebody works at it";
    }
    ASSERT_TRUE(store.Sweep("c").ok());
    EXPECT_EQ(Files(), 2u) << "of another object";
    ASSERT_TRUE(sweep().ok());
    EXPECT_EQ(Files(), 0u);
    Leave(path_, 7);
    fs::remove(path_);
    ASSERT_TRUE(sweep().ok());
    EXPECT_EQ(Files(), 0u) << "a journal without its part";
  }
}

}  // namespace
}  // namespace pipeline
