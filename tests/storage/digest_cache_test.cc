#include "storage/digest_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <tuple>

#include "base/log.h"
#include "base/str.h"
#include "storage/memory_store.h"
#include "tests/support/fault_store.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

/// An hour from now: long after the files of these tests were changed, whose ctime nobody can set.
class LateClock final : public Clock {
 public:
  std::chrono::nanoseconds Monotonic() const override { return {}; }
  std::int64_t UnixMillis() const override { return now_; }

 private:
  const std::int64_t now_ = SystemClock().UnixMillis() + 3'600'000;
};

class DigestCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    WriteFile(path_, "abc");
    SetModified(1'000);
  }
  void SetModified(std::int64_t seconds) const {
    const timespec times[2] = {{0, UTIME_OMIT}, {seconds, 7}};
    ASSERT_EQ(utimensat(AT_FDCWD, path_.c_str(), times, 0), 0);
  }
  /// The digest by a cache object of its own, and whether the file was read for it.
  std::pair<Digest, bool> Look() {
    DigestCache cache(store_, "digests", clock_);
    bool was_read = false;
    const auto digest = cache.DigestOfFile(path_, [&](auto, auto) { was_read = true; }, {});
    EXPECT_TRUE(digest.ok()) << digest.status().message();
    return {digest.ok() ? *digest : Digest(), was_read};
  }
  std::string CacheText() { return ReadObject(store_, "digests", 1 << 20).value(); }
  void SetCacheText(std::string_view text) {
    ASSERT_TRUE(WriteObject(store_, "digests", text, Condition::ReplaceAny()).ok());
  }

  TempDir dir_;
  const std::string path_ = dir_ / "a b.txt";
  MemoryStore store_;
  LateClock clock_;
  const std::pair<Digest, bool> hashed_{DigestOf("abc"), true};
  const std::pair<Digest, bool> remembered_{DigestOf("abc"), false};
};

TEST_F(DigestCacheTest, AnUnchangedFileIsHashedOnce) {
  EXPECT_EQ(Look(), hashed_);
  EXPECT_EQ(Look(), remembered_);
}

TEST_F(DigestCacheTest, AChangedFileIsHashedAgain) {
  ASSERT_EQ(Look(), hashed_);
  SetModified(1'001);
  EXPECT_EQ(Look(), hashed_) << "another mtime";
  WriteFile(path_, "abcd");
  SetModified(1'001);
  EXPECT_EQ(Look(), std::pair(DigestOf("abcd"), true)) << "another size";
  WriteFile(dir_ / "other", "abce");
  std::filesystem::rename(dir_ / "other", path_);
  SetModified(1'001);
  EXPECT_EQ(Look(), std::pair(DigestOf("abce"), true)) << "another inode";
}

TEST_F(DigestCacheTest, AFileChangedAMomentAgoIsNotRemembered) {
  SetModified(clock_.UnixMillis() / 1000 - 1);
  EXPECT_EQ(Look(), hashed_);
  EXPECT_EQ(Look(), hashed_);
  SetModified(1'000);
  for (int turn = 0; turn < 2; ++turn) {
    bool was_read = false;
    DigestCache cache(store_, "other", SystemClock());  // whose moment is that of the last ctime
    ASSERT_TRUE(cache.DigestOfFile(path_, [&](auto, auto) { was_read = true; }, {}).ok());
    EXPECT_TRUE(was_read) << "an old mtime is easily given to a new file";
  }
}

TEST_F(DigestCacheTest, AFileOverwrittenWithItsOldTimeIsHashedAgain) {
  ASSERT_EQ(Look(), hashed_);
  const FileIdentity before = IdentifyFile(path_).value();
  std::fstream(path_, std::ios::in | std::ios::out) << "xyz";
  SetModified(1'000);
  const FileIdentity after = IdentifyFile(path_).value();
  ASSERT_EQ(std::tuple(before.size, before.mtime_ns, before.inode),
            std::tuple(after.size, after.mtime_ns, after.inode));
  EXPECT_EQ(Look(), std::pair(DigestOf("xyz"), true));
  EXPECT_EQ(Look(), std::pair(DigestOf("xyz"), false));
}

TEST_F(DigestCacheTest, ANewModeIsLookedAtOnceAndChangesNothing) {
  ASSERT_EQ(Look(), hashed_);
  ASSERT_EQ(chmod(path_.c_str(), 0600), 0);
  EXPECT_EQ(Look(), hashed_);
  EXPECT_EQ(Look(), remembered_);
  ASSERT_EQ(link(path_.c_str(), (dir_ / "backup").c_str()), 0);
  EXPECT_EQ(Look(), hashed_);
  EXPECT_EQ(Look(), remembered_);
}

TEST_F(DigestCacheTest, AFileChangedWhileItIsHashedIsNotRemembered) {
  DigestCache cache(store_, "digests", clock_);
  const auto change = [&](auto, auto) {
    ASSERT_EQ(chmod(path_.c_str(), 0600), 0);
    ASSERT_EQ(chmod(path_.c_str(), 0644), 0);
  };
  ASSERT_TRUE(cache.DigestOfFile(path_, change, {}).ok());
  EXPECT_EQ(cache.Find(path_).value(), std::nullopt);
}

TEST_F(DigestCacheTest, APathThroughALinkIsTheSameFile) {
  ASSERT_EQ(Look(), hashed_);
  std::filesystem::create_symlink(path_, dir_ / "link");
  DigestCache cache(store_, "digests", clock_);
  EXPECT_EQ(cache.Find(dir_ / "link").value(), DigestOf("abc"));
}

TEST_F(DigestCacheTest, FindNeverReadsTheFile) {
  DigestCache cache(store_, "digests", clock_);
  EXPECT_EQ(cache.Find(path_).value(), std::nullopt);
  ASSERT_TRUE(cache.DigestOfFile(path_, {}, {}).ok());
  EXPECT_EQ(cache.Find(path_).value(), DigestOf("abc"));
  EXPECT_EQ(cache.Find(dir_ / "absent").status().code(), Code::kNotFound);
}

TEST_F(DigestCacheTest, ReadsAndWritesTheDocumentedExample) {
  const std::string_view example =
      "pipe digests 2\n"
      "1ca53c5d 06b05ab6733a618578af5f94892f3950 3 1700000000000000007 1310721 1700000000500000000 "
      "\"/d/a b.txt\"\n";
  CachedDigests expected;
  expected["/d/a b.txt"] = {
      {"/d/a b.txt", 3, 1'700'000'000'000'000'007, 1'310'721, 1'700'000'000'500'000'000}, DigestOf("abc")};
  EXPECT_EQ(ParseDigestCache(example), expected);
  EXPECT_EQ(FormatDigestCache(expected), example);
}

TEST_F(DigestCacheTest, PathsWithQuotesAndLineEndsComeBack) {
  CachedDigests digests;
  for (const std::string path : {"/a\nb", "/\"", "/\\", "/\xe3\x81\x82"})
    digests[path] = {{path, 1, -1, 2, -3}, DigestOf(path)};
  EXPECT_EQ(ParseDigestCache(FormatDigestCache(digests)), digests);
}

TEST_F(DigestCacheTest, DamagedLinesAreIgnored) {
  ASSERT_EQ(Look(), hashed_);
  const std::string good = CacheText();
  for (std::size_t at = 15; at < good.size(); ++at) {
    std::string damaged = good;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    SetCacheText(damaged);
    DigestCache cache(store_, "digests", clock_);
    EXPECT_EQ(cache.Find(path_).value(), std::nullopt) << "byte " << at;
  }
  SetCacheText("pipe digests 2\nnonsense\n\n" + good.substr(15));
  EXPECT_EQ(Look(), remembered_) << "a good line after damaged ones";
}

TEST_F(DigestCacheTest, ATornFileOrAnotherVersionIsStartedAnew) {
  ASSERT_EQ(Look(), hashed_);
  const std::string good = CacheText();
  for (std::size_t size = 0; size < good.size(); ++size) {
    SetCacheText(good.substr(0, size));
    DigestCache cache(store_, "digests", clock_);
    EXPECT_EQ(cache.Find(path_).value(), std::nullopt) << "cut at " << size;
  }
  SetCacheText("pipe digests 3\n" + good.substr(15));
  EXPECT_EQ(Look(), hashed_);
  EXPECT_EQ(CacheText(), good);
}

TEST_F(DigestCacheTest, ACacheOfTheFirstVersionCountsAsNone) {
  ASSERT_EQ(Look(), hashed_);
  const std::string good = CacheText();
  SetCacheText(
      "pipe digests 1\n7480b7d4 06b05ab6733a618578af5f94892f3950 3 1700000000000000007 1310721 \"/d/a "
      "b.txt\"\n");
  EXPECT_EQ(Look(), hashed_);
  EXPECT_EQ(CacheText(), good);
}

TEST_F(DigestCacheTest, ACacheThatCannotBeWrittenIsAWarning) {
  std::string warning;
  const LogSink before = SetLogSink([&](Level, std::string_view message) { warning = message; });
  FaultStore full(store_);
  full.FillDiskAfter(0);
  {
    DigestCache cache(full, "digests", clock_);
    EXPECT_EQ(cache.DigestOfFile(path_, {}, {}).value(), DigestOf("abc"));
  }
  SetLogSink(before);
  EXPECT_TRUE(warning.starts_with("the next run hashes 1 file again, because the digests cannot be kept: "))
      << warning;
}

TEST_F(DigestCacheTest, TheDigestsOfManyFilesAreWrittenOnce) {
  FaultStore counted(store_);
  for (int round = 0; round < 2; ++round) {
    DigestCache cache(counted, "digests", clock_);
    for (int file = 0; file < 100; ++file) {
      const std::string path = dir_ / StrCat("file", file);
      if (round == 0) WriteFile(path, "abc");
      bool was_read = false;
      ASSERT_TRUE(cache.DigestOfFile(path, [&](auto, auto) { was_read = true; }, {}).ok());
      EXPECT_EQ(was_read, round == 0);
    }
  }
  EXPECT_EQ(counted.calls(FaultStore::Call::kCommit), 1);
}

TEST_F(DigestCacheTest, LongHashingIsRememberedBeforeTheEnd) {
  DigestCache cache(store_, "digests", clock_, 1);
  ASSERT_TRUE(cache.DigestOfFile(path_, {}, {}).ok());
  EXPECT_EQ(Look(), remembered_);
}

TEST_F(DigestCacheTest, HashingStopsWhenToldTo) {
  std::stop_source stop;
  stop.request_stop();
  DigestCache cache(store_, "digests", clock_);
  EXPECT_EQ(cache.DigestOfFile(path_, {}, stop.get_token()).status().code(), Code::kCancelled);
}

TEST_F(DigestCacheTest, ACacheOfAnyLengthIsRead) {
  Look();
  CachedDigests digests = ParseDigestCache(CacheText());
  ASSERT_EQ(digests.size(), 1u);
  for (int file = 0; file < 700; ++file) {
    const std::string path = StrCat("/", std::string(100'000, 'a'), file);  // before "/tmp"
    digests.emplace(path, CachedDigest{{path, 1, 2, 3, 4}, Digest()});
  }
  const std::string text = FormatDigestCache(digests);
  ASSERT_GT(text.size(), std::size_t{64} << 20);
  SetCacheText(text);
  EXPECT_EQ(Look(), remembered_);
}

TEST_F(DigestCacheTest, ALineWithoutEndCostsNoLineAfterIt) {
  Look();
  std::string text = CacheText();
  text.insert(text.find('\n') + 1, StrCat(std::string(40 << 20, 'x'), "\n"));
  SetCacheText(text);
  EXPECT_EQ(Look(), remembered_);
}

/// A file of two ranges.
class LongFileTest : public DigestCacheTest {
 protected:
  void SetUp() override {
    WriteFile(path_, "abc");
    Grow();
    digest_ = Look().first;
  }
  void Grow() { std::filesystem::resize_file(path_, kCheckedRange + 1); }
  const FileIdentity File() { return IdentifyFile(path_).value(); }
  /// Opens the file, reads it to its end, and returns the failure.
  static Status Read(DigestCache& cache, const std::string& path) {
    const std::unique_ptr<ByteFile> file = cache.Checked(
        LocalFile::Open(path).value(), [](const std::string& real, std::uint64_t begin, std::uint64_t end) {
          return Status(Code::kFailedPrecondition, StrCat(real, " ", begin, "-", end));
        });
    const std::unique_ptr<ByteReader> reader = file->Open(0, {}).value();
    std::string piece(1 << 20, '\0');
    for (;;) {
      const Result<std::size_t> got = reader->Read(piece);
      if (!got.ok() || *got == 0) return got.status();
    }
  }
  /// What the cache has of the file, under the attributes that it has now, as after a write that moved no
  /// time.
  void KeepAsUnchanged() {
    CachedDigests digests = ParseDigestCache(CacheText());
    digests.at(path_).file = File();
    SetCacheText(FormatDigestCache(digests));
  }
  void Write(std::uint64_t at) {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(at));
    file << "x";
  }

  Digest digest_;
};

TEST_F(LongFileTest, ItsRangesAreKept) {
  const CachedDigest kept = ParseDigestCache(CacheText()).at(path_);
  ASSERT_EQ(kept.ranges.size(), 2u);
  EXPECT_EQ(kept.digest, digest_);
  EXPECT_EQ(kept.ranges[1], DigestOf(std::string(1, '\0')));
  EXPECT_EQ(Look(), std::pair(digest_, false));
}

TEST_F(LongFileTest, WithoutItsRangesItIsHashedAgain) {
  const std::string text = CacheText();
  const std::size_t begin = text.find('\n') + 1, end = text.find('\n', begin) + 1;
  ASSERT_EQ(text.substr(begin + 8, 8), " ranges ");
  for (const std::string& ranges : {std::string(), StrCat("0", text.substr(begin + 1, end - begin - 1))}) {
    SetCacheText(text.substr(0, begin) + ranges + text.substr(end));
    EXPECT_EQ(Look(), std::pair(digest_, true));
    EXPECT_EQ(CacheText(), text);
  }
}

TEST_F(LongFileTest, OtherBytesWithTheSameTimesAreFoundAndTheFileIsHashedAgain) {
  Write(kCheckedRange);
  KeepAsUnchanged();
  {
    DigestCache cache(store_, "digests", clock_);
    ASSERT_EQ(cache.DigestOfFile(path_, {}, {}).value(), digest_);
    for (int reader = 0; reader < 2; ++reader)
      EXPECT_EQ(Read(cache, path_).message(), StrCat(path_, " ", kCheckedRange, "-", kCheckedRange + 1));
  }
  EXPECT_EQ(ParseDigestCache(CacheText()).size(), 0u);
  EXPECT_NE(Look(), std::pair(digest_, true));
}

TEST_F(LongFileTest, AFileThatWasHashedAMomentAgoIsComparedToo) {
  DigestCache cache(store_, "other", SystemClock());
  ASSERT_TRUE(cache.DigestOfFile(path_, {}, {}).ok());
  EXPECT_TRUE(Read(cache, path_).ok());
  EXPECT_EQ(cache.Find(path_).value(), std::nullopt) << "it is not remembered";
}

TEST_F(LongFileTest, RangesOfAnotherProcessAreCompared) {
  DigestCache planner(store_, "digests", clock_);
  const RangeDigests ranges = [&] {
    EXPECT_TRUE(planner.DigestOfFile(path_, {}, {}).ok());
    return planner.RangesOf(path_);
  }();
  ASSERT_EQ(ranges.size(), 2u);
  Write(5);
  MemoryStore own;
  DigestCache worker(own, "digests", clock_);
  EXPECT_TRUE(Read(worker, path_).ok()) << "nothing is known";
  worker.SetRanges(path_, ranges);
  EXPECT_EQ(Read(worker, path_).message(), StrCat(path_, " 0-", kCheckedRange));
  EXPECT_EQ(worker.Find(path_).value(), std::nullopt);
}

TEST_F(LongFileTest, WhatWasTakenByTimesAloneIsTold) {
  DigestCache cache(store_, "digests", clock_);
  EXPECT_EQ(cache.NotRead().files, 0u);
  ASSERT_TRUE(cache.DigestOfFile(path_, {}, {}).ok());
  EXPECT_EQ(cache.NotRead().bytes, kCheckedRange + 1);
  EXPECT_EQ(cache.NotRead().path, path_);
  ASSERT_TRUE(Read(cache, path_).ok());
  EXPECT_EQ(cache.NotRead().files, 0u) << "all ranges were compared";
}

TEST_F(LongFileTest, AllFilesAreReadAgainOnceIfItIsAskedFor) {
  Write(0);
  KeepAsUnchanged();
  std::string warning;
  const LogSink before = SetLogSink([&](Level, std::string_view message) { warning = message; });
  DigestCache cache(store_, "digests", clock_);
  cache.ReadAll();
  int reads = 0;
  const Digest now = cache.DigestOfFile(path_, [&](auto done, auto of) { reads += done == of; }, {}).value();
  EXPECT_NE(now, digest_);
  EXPECT_EQ(cache.DigestOfFile(path_, [&](auto done, auto of) { reads += done == of; }, {}).value(), now);
  EXPECT_EQ(reads, 1);
  EXPECT_EQ(cache.NotRead().files, 0u);
  SetLogSink(before);
  EXPECT_TRUE(warning.starts_with(StrCat(path_, ": has other bytes than when its digest was taken")))
      << warning;
}

}  // namespace
}  // namespace pipeline
