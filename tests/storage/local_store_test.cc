#include "storage/local_store.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "base/commit_point.h"
#include "storage/local_file.h"
#include "storage/local_names.h"
#include "tests/storage/store_conformance.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

class LocalBackend {
 public:
  Store& store() { return store_; }
  static bool CanName(std::string_view name) { return name.size() < 1000; }

 private:
  TempDir dir_;
  LocalStore store_{dir_ / "made/by/the/store"};
};
INSTANTIATE_TYPED_TEST_SUITE_P(Local, StoreReading, LocalBackend);
INSTANTIATE_TYPED_TEST_SUITE_P(Local, StoreConformance, LocalBackend);

/// Everything below the directory that is no directory, temporaries included.
std::size_t FilesIn(const std::filesystem::path& path) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
    count += !entry.is_directory();
  return count;
}

/// Runs `body` in a child process; its exit code, or minus the signal that ended it.
template <class Body>
int InChild(Body body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

ino_t InodeOf(const std::string& path) {
  struct stat found {};
  EXPECT_EQ(stat(path.c_str(), &found), 0) << path;
  return found.st_ino;
}

class LocalStoreTest : public testing::Test {
 protected:
  Status Write(std::string_view name, std::string_view bytes, const Condition& condition = {}) {
    return WriteObject(store_, name, bytes, condition).status();
  }
  std::unique_ptr<ByteFile> Open(std::string_view name) {
    auto file = store_.Open(name);
    EXPECT_TRUE(file.ok()) << file.status().message();
    return file.ok() ? std::move(file).value() : nullptr;
  }

  TempDir dir_;
  LocalStore store_{dir_.path().string()};
};

TEST_F(LocalStoreTest, KilledAtAnyCommitPointNothingHalfWrittenIsSeen) {
  for (const std::string_view point : {"object.written", "object.synced", "object.visible"}) {
    for (const bool replaces : {false, true}) {
      const std::string name = std::string(point) + (replaces ? "/replaced" : "/created");
      ASSERT_TRUE(!replaces || Write(name, "old").ok());
      const int ended = InChild([&] {
        SetCommitPointHook([&](std::string_view passed) {
          if (passed == point) kill(getpid(), SIGKILL);
        });
        const auto condition = replaces ? Condition::ReplaceAny() : Condition::CreateOnly();
        return Write(name, "new bytes", condition).ok() ? 0 : 1;
      });
      ASSERT_EQ(ended, -SIGKILL) << name;

      const bool done = point == "object.visible";
      const auto stat = store_.Stat(name);
      ASSERT_TRUE(stat.ok());
      ASSERT_EQ(stat->has_value(), done || replaces) << name;
      if (stat->has_value()) {
        EXPECT_EQ(ReadFile(dir_ / name), done ? "new bytes" : "old");
      }
      EXPECT_EQ(FilesIn(dir_ / point), (stat->has_value() ? 1u : 0u) + (done ? 0u : 1u)) << "its temporary";
      EXPECT_EQ(store_.List(point)->size(), stat->has_value() ? 1u : 0u);

      ASSERT_TRUE(store_.Sweep(std::string(point) + "/").ok());
      EXPECT_EQ(FilesIn(dir_ / point), stat->has_value() ? 1u : 0u);
      ASSERT_TRUE(store_.Remove(name).ok());
    }
  }
}

TEST_F(LocalStoreTest, SweepTakesOnlyWhatIsUnderThePrefix) {
  const int ended = InChild([&] {
    SetCommitPointHook([](std::string_view) { kill(getpid(), SIGKILL); });
    const auto left = store_.Create("a/one", {});
    const auto other = store_.Create("ab/two", {});
    return Write("a/three", "x").ok() && left.ok() && other.ok() ? 0 : 1;
  });
  ASSERT_EQ(ended, -SIGKILL);
  ASSERT_EQ(FilesIn(dir_.path()), 3u);
  ASSERT_TRUE(store_.Sweep("a/t").ok());
  EXPECT_EQ(FilesIn(dir_.path()), 2u);
  ASSERT_TRUE(store_.Sweep("a/").ok());
  EXPECT_EQ(FilesIn(dir_.path()), 1u);
  ASSERT_TRUE(store_.Sweep("").ok());
  EXPECT_EQ(FilesIn(dir_.path()), 0u);
}

TEST_F(LocalStoreTest, SweepKeepsWhatALivingProcessWrites) {
  const auto writer = store_.Create("a", {});
  ASSERT_TRUE(writer.ok() && (*writer)->Append("bytes").ok());
  EXPECT_EQ(InChild([&] { return store_.Sweep("").ok() ? 0 : 1; }), 0);
  EXPECT_TRUE((*writer)->Commit().ok());
}

TEST_F(LocalStoreTest, SweepTakesWhatAnEarlierProcessWithOurNumberLeft) {
  const std::string left = NewTemporaryName("a");  // this process is alive, but holds no lock on it
  WriteFile(dir_ / left, "half");
  WriteFile(dir_ / ".b.tmp.00000000-1-0", "of another boot, by the number of a living process");
  ASSERT_TRUE(store_.Sweep("").ok());
  EXPECT_EQ(FilesIn(dir_.path()), 0u);
}

TEST_F(LocalStoreTest, SweepTakesTemporariesOfTheLongestNames) {
  const std::string longest(255, 'x');
  for (const std::string& prefix :
       {std::string("x"), std::string(200, 'x'), std::string(201, 'x'), longest}) {
    WriteFile(dir_ / NewTemporaryName(longest), "half");
    ASSERT_TRUE(store_.Sweep(std::string(250, 'y')).ok());
    EXPECT_EQ(FilesIn(dir_.path()), 1u) << "of another name";
    ASSERT_TRUE(store_.Sweep(prefix).ok());
    EXPECT_EQ(FilesIn(dir_.path()), 0u) << prefix;
  }
}

TEST_F(LocalStoreTest, APartLongerThanADirectoryTakesIsNoName) {
  for (const std::string& name :
       {std::string(256, 'x'), "a/" + std::string(256, 'x'), std::string(256, 'x') + "/a"}) {
    EXPECT_EQ(Write(name, "1").code(), Code::kInvalidArgument);
    EXPECT_EQ(store_.Stat(name).status().code(), Code::kInvalidArgument);
    EXPECT_EQ(store_.Open(name).status().code(), Code::kInvalidArgument);
    EXPECT_EQ(store_.Remove(name).code(), Code::kInvalidArgument);
  }
}

TEST_F(LocalStoreTest, AFileOverwrittenWithItsOldTimeIsCopiedAsItIs) {
  const std::string old = PatternBytes(1 << 20), fresh(1 << 20, 'n');
  WriteFile(dir_ / "theirs", old);
  const auto file = LocalFile::Open(dir_ / "theirs");
  ASSERT_TRUE(file.ok());
  const std::int64_t mtime = (*file)->identity().mtime_ns;
  WriteFile(dir_ / "theirs", fresh);
  const timespec times[2] = {{0, UTIME_OMIT}, {mtime / 1'000'000'000, mtime % 1'000'000'000}};
  ASSERT_EQ(utimensat(AT_FDCWD, (dir_ / "theirs").c_str(), times, 0), 0);
  EXPECT_TRUE((*file)->CheckUnchanged().ok()) << "nothing but ctime shows it";
  const auto writer = store_.Create("a", {});
  ASSERT_TRUE(writer.ok() && (*writer)->Append("front ").ok() && (*writer)->AppendFile(**file, {}).ok() &&
              (*writer)->Commit().ok());
  EXPECT_TRUE(ReadFile(dir_ / "a") == "front " + fresh);
}

TEST_F(LocalStoreTest, TemporariesAreNoObjects) {
  const std::string name = NewTemporaryName("a");
  WriteFile(dir_ / name, "half");
  EXPECT_TRUE(store_.List("")->empty());
  EXPECT_EQ(store_.Open(name).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(store_.Create(name, {}).status().code(), Code::kInvalidArgument);
}

TEST_F(LocalStoreTest, AWriterThatLosesLeavesNothing) {
  ASSERT_TRUE(Write("a", "1").ok());
  EXPECT_EQ(Write("a", "2").code(), Code::kAlreadyExists);
  EXPECT_EQ(Write("a", "2", Condition::Replace("x")).code(), Code::kFailedPrecondition);
  EXPECT_EQ(FilesIn(dir_.path()), 1u);
}

TEST_F(LocalStoreTest, AppendFileSharesAnObjectsBytes) {
  ASSERT_TRUE(Write("pieces/a", PatternBytes(100'000)).ok());
  const auto file = Open("pieces/a");
  const auto writer = store_.Create("out/a", {});
  ASSERT_TRUE(writer.ok() && (*writer)->AppendFile(*file, {}).ok() && (*writer)->Commit().ok());
  EXPECT_EQ(InodeOf(dir_ / "out/a"), InodeOf(dir_ / "pieces/a"));
  EXPECT_EQ(FilesIn(dir_.path()), 2u);

  ASSERT_TRUE(Write("out/a", "new", Condition::ReplaceAny()).ok());
  EXPECT_EQ(ReadFile(dir_ / "pieces/a").size(), 100'000u) << "replacing one name changed the other";
}

TEST_F(LocalStoreTest, ReplacingAnObjectByItselfLeavesNoTemporary) {
  ASSERT_TRUE(Write("a", "bytes").ok());
  const auto file = Open("a");
  {
    const auto writer = store_.Create("a", Condition::ReplaceAny());
    ASSERT_TRUE(writer.ok() && (*writer)->AppendFile(*file, {}).ok() && (*writer)->Commit().ok());
  }
  EXPECT_EQ(FilesIn(dir_.path()), 1u);
  EXPECT_EQ(ReadFile(dir_ / "a"), "bytes");
}

TEST_F(LocalStoreTest, ALinkedTemporaryIsSweptAndItsSourceStays) {
  ASSERT_TRUE(Write("a", "bytes").ok());
  const int ended = InChild([&] {
    SetCommitPointHook([](std::string_view) { kill(getpid(), SIGKILL); });
    const auto writer = store_.Create("b", {});
    const auto file = store_.Open("a");
    if (!writer.ok() || !file.ok() || !(*writer)->AppendFile(**file, {}).ok()) return 1;
    return (*writer)->Commit().ok() ? 0 : 1;
  });
  ASSERT_EQ(ended, -SIGKILL);
  ASSERT_EQ(FilesIn(dir_.path()), 2u);
  ASSERT_TRUE(store_.Sweep("").ok());
  EXPECT_EQ(FilesIn(dir_.path()), 1u);
  EXPECT_EQ(ReadFile(dir_ / "a"), "bytes");
}

TEST_F(LocalStoreTest, SweepKeepsALinkThatALivingProcessHolds) {
  ASSERT_TRUE(Write("a", "bytes").ok());
  const auto file = Open("a");
  const auto writer = store_.Create("b", {});
  ASSERT_TRUE(writer.ok() && (*writer)->AppendFile(*file, {}).ok());
  ASSERT_TRUE(store_.Sweep("").ok());
  EXPECT_TRUE((*writer)->Commit().ok());
  EXPECT_EQ(ReadFile(dir_ / "b"), "bytes");
}

TEST_F(LocalStoreTest, AFileThatIsNotOursIsCopied) {
  WriteFile(dir_ / "theirs", "bytes");
  const auto file = LocalFile::Open(dir_ / "theirs");
  const auto writer = store_.Create("a", {});
  ASSERT_TRUE(file.ok() && writer.ok() && (*writer)->AppendFile(**file, {}).ok() && (*writer)->Commit().ok());
  EXPECT_NE(InodeOf(dir_ / "a"), InodeOf(dir_ / "theirs"));
  EXPECT_EQ(ReadFile(dir_ / "a"), "bytes");
}

TEST_F(LocalStoreTest, AFileTruncatedUnderItsReaderIsDataLoss) {
  ASSERT_TRUE(Write("a", PatternBytes(100'000)).ok());
  const auto file = Open("a");
  const auto reader = file->Open(0, {});
  std::string bytes(50'000, '\0');
  ASSERT_TRUE(reader.ok() && ReadExactly(**reader, bytes).ok());
  std::filesystem::resize_file(dir_ / "a", 60'000);
  const Status read = ReadExactly(**reader, bytes);
  EXPECT_EQ(read.code(), Code::kDataLoss);
  EXPECT_NE(read.message().find("changed while it was read"), std::string_view::npos) << read.message();
}

TEST_F(LocalStoreTest, AFileEditedUnderItsReaderIsDataLoss) {
  ASSERT_TRUE(Write("a", "0123456789").ok());
  const auto file = Open("a");
  const auto reader = file->Open(0, {});
  std::string bytes(5, '\0');
  ASSERT_TRUE(reader.ok() && ReadExactly(**reader, bytes).ok());
  WriteFile(dir_ / "a", "9876543210");
  EXPECT_EQ(ReadExactly(**reader, bytes).code(), Code::kDataLoss);
}

TEST_F(LocalStoreTest, LinksToFilesAreObjectsAndLinksToDirectoriesAreNotEntered) {
  ASSERT_TRUE(Write("dir/a", "1").ok());
  std::filesystem::create_symlink("dir/a", dir_ / "link");
  std::filesystem::create_directory_symlink("..", dir_ / "dir/loop");
  const auto objects = store_.List("");
  ASSERT_TRUE(objects.ok()) << objects.status().message();
  ASSERT_EQ(objects->size(), 2u);
  EXPECT_EQ((*objects)[1].name, "link");
  EXPECT_EQ((*objects)[1].size, 1u);
}

TEST_F(LocalStoreTest, APathThroughAFileSaysSo) {
  WriteFile(dir_ / "file", "");
  LocalStore below(dir_ / "file/dir");
  const Status written = WriteObject(below, "a", "1", {}).status();
  EXPECT_EQ(written.code(), Code::kInvalidArgument);
  EXPECT_NE(written.message().find(dir_ / "file/dir"), std::string_view::npos) << written.message();
  EXPECT_NE(written.message().find("a part of this path is a file"), std::string_view::npos);
  EXPECT_TRUE(below.List("")->empty());
}

TEST_F(LocalStoreTest, ADirectoryInTheObjectsPlaceIsNotReplaced) {
  ASSERT_TRUE(Write("dir/a", "1").ok());
  EXPECT_EQ(Write("dir", "2").code(), Code::kAlreadyExists);
  EXPECT_EQ(Write("dir", "2", Condition::ReplaceAny()).code(), Code::kInvalidArgument);
  EXPECT_EQ(FilesIn(dir_.path()), 1u);
}

TEST_F(LocalStoreTest, AFullDiskIsToldAndLeavesNothing) {
  const std::string bytes = PatternBytes(2 << 20);
  const int ended = InChild([&] {  // the limit fails a write half-way, as a full disk does
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {1 << 20, 1 << 20};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
    const auto writer = store_.Create("a", {});
    if (!writer.ok()) return 3;
    if ((*writer)->Append(bytes).code() != Code::kResourceExhausted) return 4;
    return (*writer)->Commit().status().code() == Code::kResourceExhausted ? 0 : 5;
  });
  EXPECT_EQ(ended, 0);
  // The child left by _exit, without the writer's destructor.
  EXPECT_TRUE(store_.List("")->empty());
  ASSERT_TRUE(store_.Sweep("").ok());
  EXPECT_EQ(FilesIn(dir_.path()), 0u);
}

TEST_F(LocalStoreTest, ADirectoryWithoutPermissionSaysWhatToDo) {
  ASSERT_EQ(chmod(dir_.path().c_str(), 0555), 0);
  const int ended = InChild([&] {
    if (geteuid() == 0 && setuid(65534) != 0) return 2;  // nothing is forbidden to root
    const Status written = Write("a", "1");
    if (written.code() != Code::kPermissionDenied) return 3;
    return written.message().find("check the owner and the permissions") != std::string_view::npos ? 0 : 4;
  });
  EXPECT_EQ(ended, 0);
  ASSERT_EQ(chmod(dir_.path().c_str(), 0755), 0);
}

TEST_F(LocalStoreTest, AListingDoesNotPassOverADirectoryThatNobodyMayLookAt) {
  ASSERT_TRUE(Write("sub/a", "1").ok());
  ASSERT_EQ(chmod(dir_.path().c_str(), 0644), 0);
  const int ended = InChild([&] {
    if (geteuid() == 0 && setuid(65534) != 0) return 2;  // nothing is forbidden to root
    const auto found = store_.List("");
    return found.ok() ? 3 : found.status().code() == Code::kPermissionDenied ? 0 : 4;
  });
  EXPECT_EQ(ended, 0);
  ASSERT_EQ(chmod(dir_.path().c_str(), 0755), 0);
}

TEST_F(LocalStoreTest, ARelativeRootIsTakenFromWhereItWasMade) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(dir_.path());
  LocalStore relative("./sub/");
  std::filesystem::current_path(before);
  EXPECT_EQ(relative.root(), std::filesystem::canonical(dir_.path()).string() + "/sub");
  ASSERT_TRUE(WriteObject(relative, "a", "1", {}).ok());
  EXPECT_EQ(ReadFile(dir_ / "sub/a"), "1");
}

}  // namespace
}  // namespace pipeline
