#include "storage/remote/http/arriving_file.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "base/crc32c.h"
#include "base/str.h"
#include "storage/kept_part.h"
#include "storage/remote/http/compared_bytes.h"
#include "tests/support/memory_file.h"
#include "tests/support/temp_dir.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kMib = 1 << 20;

/// A remote file of `size` bytes that are a function of their offset, of which it gives so much as it is
/// allowed to.
class SlowFile final : public ByteFile {
 public:
  explicit SlowFile(std::uint64_t size) : size_(size) {}

  std::uint64_t size() const override { return size_; }
  Result<std::unique_ptr<ByteReader>> Open(std::uint64_t offset, std::stop_token stop) const override {
    const std::scoped_lock lock(mutex_);
    opened_.push_back(offset);
    changed_.notify_all();
    return std::unique_ptr<ByteReader>(std::make_unique<Reader>(*this, offset, std::move(stop)));
  }

  /// The reader at the front may give bytes below `bytes`; readers opened beyond them give all.
  void Allow(std::uint64_t bytes) {
    Change([&] { allowed_ = bytes; });
  }
  void Fail(Status failure) {
    Change([&] { failure_ = std::move(failure); });
  }
  /// Until the reader at the front has given all below `bytes` and is asked for more.
  void WaitForWant(std::uint64_t bytes) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return wanted_ >= bytes; });
  }
  std::vector<std::uint64_t> opened() const {
    const std::scoped_lock lock(mutex_);
    return opened_;
  }
  static char ByteAt(std::uint64_t offset) { return static_cast<char>((offset * 2654435761u) >> 13); }
  static std::string Bytes(std::uint64_t from, std::uint64_t count) {
    std::string bytes(count, '\0');
    for (std::uint64_t i = 0; i < count; ++i) bytes[i] = ByteAt(from + i);
    return bytes;
  }

 private:
  class Reader final : public ByteReader {
   public:
    Reader(const SlowFile& file, std::uint64_t offset, std::stop_token stop)
        : file_(file), at_(offset), free_(offset > file.allowed_), stop_(std::move(stop)) {}
    Result<std::size_t> Read(std::span<char> out) override {
      std::unique_lock lock(file_.mutex_);
      file_.wanted_ = std::max(file_.wanted_, at_);
      file_.changed_.notify_all();
      const auto may = [this] {
        return free_ || at_ < file_.allowed_ || at_ == file_.size_ || !file_.failure_.ok();
      };
      if (!file_.changed_.wait(lock, stop_, may)) return Status(Code::kCancelled, "stopped");
      if (!free_ && at_ >= file_.allowed_ && !file_.failure_.ok()) return file_.failure_;
      const std::uint64_t end = free_ ? file_.size_ : std::min(file_.allowed_, file_.size_);
      const auto got = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), end - at_));
      for (std::size_t i = 0; i < got; ++i) out[i] = ByteAt(at_ + i);
      at_ += got;
      return got;
    }

   private:
    const SlowFile& file_;
    std::uint64_t at_;
    const bool free_;
    const std::stop_token stop_;
  };

  template <class Edit>
  void Change(const Edit& edit) {
    const std::scoped_lock lock(mutex_);
    edit();
    changed_.notify_all();
  }

  const std::uint64_t size_;
  mutable std::mutex mutex_;
  mutable std::condition_variable_any changed_;
  std::uint64_t allowed_ = 0;
  mutable std::uint64_t wanted_ = 0;
  Status failure_;
  mutable std::vector<std::uint64_t> opened_;
};

class ArrivingFileTest : public testing::Test {
 protected:
  std::unique_ptr<ArrivingFile> Begin(std::optional<std::uint32_t> crc32c = {}, std::string identity = "v1") {
    Result<std::unique_ptr<ArrivingFile>> file = ArrivingFile::Begin(
        remote_,
        {.name = "https://host/file", .path = path_, .identity = std::move(identity), .crc32c = crc32c});
    EXPECT_TRUE(file.ok()) << file.status().message();
    return file.ok() ? std::move(file).value() : nullptr;
  }
  static std::string Read(const ArrivingFile& file, std::uint64_t offset, std::size_t bytes, Status& status) {
    std::string read(bytes, '\0');
    Result<std::unique_ptr<ByteReader>> reader = file.Open(offset, {});
    status = reader.ok() ? ReadExactly(**reader, read) : reader.status();
    return read;
  }

  TempDir dir_;
  const std::string path_ = dir_ / "file";
  std::uint64_t size_ = 5 * kMib + 17;
  std::shared_ptr<SlowFile> remote_ = std::make_shared<SlowFile>(size_);
  Status status_;
};

TEST_F(ArrivingFileTest, GivesWhatIsHereBeforeTheRest) {
  const auto file = Begin();
  remote_->Allow(2 * kMib);
  EXPECT_EQ(Read(*file, 100, kMib, status_), SlowFile::Bytes(100, kMib));
  EXPECT_TRUE(status_.ok()) << status_.message();
  remote_->Allow(size_);
  const auto reader = file->Open(0, {});
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(ReadAll(**reader, status_), SlowFile::Bytes(0, size_));
  EXPECT_TRUE(status_.ok()) << status_.message();
  EXPECT_TRUE(file->WaitUntilWhole({}).ok());
  EXPECT_EQ(remote_->opened(), std::vector<std::uint64_t>{0});
}

TEST_F(ArrivingFileTest, AmongOthersWhatIsKeptIsHeldAgainstItsJournal) {
  const auto begin = [this] {
    Download download{
        .name = "https://host/file", .path = KeptPartPath(path_), .identity = "v1", .crc32c = {}};
    download.among_others = true;
    return ArrivingFile::Begin(remote_, std::move(download)).value();
  };
  for (const bool flips : {false, true}) {
    remote_->Allow(3 * kMib);
    {
      const auto file = begin();
      Read(*file, 3 * kMib - 1, 1, status_);
      ASSERT_TRUE(status_.ok());
    }
    if (flips) {
      std::string bytes = ReadFile(KeptPartPath(path_));
      bytes[kMib] = static_cast<char>(bytes[kMib] ^ 1);
      WriteFile(KeptPartPath(path_), bytes);
    }
    remote_->Allow(size_);
    {
      const auto file = begin();
      EXPECT_TRUE(file->WaitUntilWhole({}).ok());
    }
    EXPECT_EQ(remote_->opened().back(), flips ? 0 : 3 * kMib - kComparedBytes);
    EXPECT_TRUE(ReadFile(KeptPartPath(path_)) == SlowFile::Bytes(0, size_));
    ASSERT_TRUE(RemoveKeptPart(KeptPartPath(path_)).ok());
  }
}

TEST_F(ArrivingFileTest, TheNextOneGoesOnWhereThisOneEnded) {
  remote_->Allow(3 * kMib);
  {
    const auto file = Begin();
    Read(*file, 3 * kMib - 1, 1, status_);
    ASSERT_TRUE(status_.ok());
  }
  remote_->Allow(size_);
  const auto file = Begin(Crc32c(SlowFile::Bytes(0, size_)));
  EXPECT_TRUE(file->WaitUntilWhole({}).ok());
  EXPECT_EQ(remote_->opened(), (std::vector<std::uint64_t>{0, 3 * kMib - kComparedBytes}));
  EXPECT_EQ(ReadFile(path_), SlowFile::Bytes(0, size_));
}

TEST_F(ArrivingFileTest, NothingIsAppendedToBytesThatTheServerHasNoMore) {
  remote_->Allow(3 * kMib);
  {
    const auto file = Begin();
    Read(*file, 3 * kMib - 1, 1, status_);
    ASSERT_TRUE(status_.ok());
  }
  std::string other = SlowFile::Bytes(0, size_);
  for (char& byte : other) byte = static_cast<char>(byte ^ 1);
  const auto changed = std::make_shared<MemoryFile>(other);
  const auto file = ArrivingFile::Begin(
      changed, {.name = "https://host/file", .path = path_, .identity = "v1", .crc32c = {}});
  ASSERT_TRUE(file.ok());
  Read(**file, 0, 1, status_);
  EXPECT_NE(status_.Detail<OtherBytes>(), nullptr) << "a reader got a byte of the old ones";
  EXPECT_EQ(status_.message(),
            "https://host/file: changed, although its server names the same version: the bytes before byte "
            "3145728 are not those that it sent before");
  EXPECT_NE((*file)->WaitUntilWhole({}).Detail<OtherBytes>(), nullptr);
}

TEST_F(ArrivingFileTest, ACopyBeginsAgainWhereTheServerHasOtherBytes) {
  std::string now = SlowFile::Bytes(0, size_);
  for (const int flip : {0, 1}) {
    now[3 * kMib - 5] = static_cast<char>(now[3 * kMib - 5] ^ flip);
    Download download{
        .name = "https://host/file", .path = KeptPartPath(path_), .identity = "v1", .crc32c = {}};
    download.among_others = true;
    if (flip == 0) {
      remote_->Allow(3 * kMib);
      const auto front = ArrivingFile::Begin(remote_, std::move(download)).value();
      Read(*front, 3 * kMib - 1, 1, status_);
      ASSERT_TRUE(status_.ok());
      continue;
    }
    const auto whole = ArrivingFile::Begin(std::make_shared<MemoryFile>(now), std::move(download)).value();
    EXPECT_TRUE(whole->WaitUntilWhole({}).ok());
  }
  EXPECT_TRUE(ReadFile(KeptPartPath(path_)) == now);
}

TEST_F(ArrivingFileTest, WhatIsWholeIsNotFetchedAgain) {
  remote_->Allow(size_);
  EXPECT_TRUE(Begin()->WaitUntilWhole({}).ok());
  EXPECT_TRUE(Begin()->WaitUntilWhole({}).ok());
  EXPECT_EQ(remote_->opened().size(), 1u);
  EXPECT_TRUE(Begin({}, "v2")->WaitUntilWhole({}).ok());
  EXPECT_EQ(remote_->opened().size(), 2u);
}

TEST_F(ArrivingFileTest, TheFarEndIsFetchedByItself) {
  size_ = 70 * kMib;
  remote_ = std::make_shared<SlowFile>(size_);
  const auto file = Begin();
  remote_->Allow(kMib);
  const std::uint64_t last = size_ - 12;
  EXPECT_EQ(Read(*file, last, 12, status_), SlowFile::Bytes(last, 12));
  EXPECT_TRUE(status_.ok()) << status_.message();
}

TEST_F(ArrivingFileTest, AReaderThatWaitsIsStopped) {
  const auto file = Begin();
  std::stop_source stop;
  const auto reader = file->Open(0, stop.get_token());
  ASSERT_TRUE(reader.ok());
  std::jthread stopper([&stop] { stop.request_stop(); });
  std::string bytes(10, '\0');
  EXPECT_EQ((*reader)->Read(bytes).status().code(), Code::kCancelled);
  EXPECT_EQ(file->WaitUntilWhole(stop.get_token()).code(), Code::kCancelled);
}

TEST_F(ArrivingFileTest, AFailureReachesWhoReadsOnAndLeavesWhatIsHere) {
  const auto file = Begin();
  remote_->Allow(kMib);
  remote_->Fail(Status(Code::kUnavailable, "https://host/file: the host does not answer"));
  EXPECT_EQ(Read(*file, 0, kMib, status_), SlowFile::Bytes(0, kMib));
  EXPECT_TRUE(status_.ok()) << status_.message();
  Read(*file, 0, kMib + 1, status_);
  EXPECT_EQ(status_.code(), Code::kUnavailable);
  EXPECT_EQ(file->WaitUntilWhole({}).code(), Code::kUnavailable);
}

TEST_F(ArrivingFileTest, NobodyReachesTheEndOfADamagedFile) {
  remote_->Allow(size_);
  {
    const auto file = Begin(Crc32c("something else"));
    const auto reader = file->Open(0, {});
    ASSERT_TRUE(reader.ok());
    ReadAll(**reader, status_);
    EXPECT_EQ(status_.code(), Code::kDataLoss);
    EXPECT_NE(status_.message().find("https://host/file: arrived damaged"), std::string::npos)
        << status_.message();
    EXPECT_EQ(file->WaitUntilWhole({}).code(), Code::kDataLoss);
  }
  EXPECT_TRUE(Begin(Crc32c(SlowFile::Bytes(0, size_)))->WaitUntilWhole({}).ok());
  EXPECT_EQ(remote_->opened(), (std::vector<std::uint64_t>{0, 0}));
}

// ------------------------------------------------------------------------------------------- pins

class PinnedFileTest : public ArrivingFileTest {
 protected:
  Checksum Pin(std::string_view bytes, Checksum::Kind kind = Checksum::Kind::kSha256) {
    ChecksumHasher hasher(kind);
    hasher.Update(bytes);
    return *hasher.Finish();
  }
  std::unique_ptr<ArrivingFile> BeginPinned(const Checksum& pin) {
    Download download;
    download.name = "https://host/file";
    download.path = path_;
    download.identity = StrCat("pinned ", ToString(pin));
    download.pin = pin;
    download.invalidate = invalidate_;
    Result<std::unique_ptr<ArrivingFile>> file = ArrivingFile::Begin(remote_, std::move(download));
    EXPECT_TRUE(file.ok()) << file.status().message();
    return file.ok() ? std::move(file).value() : nullptr;
  }
  const std::string all_ = SlowFile::Bytes(0, size_);
  std::function<bool(bool)> invalidate_;
};

TEST_F(PinnedFileTest, IsGivenOnceAllOfItIsHereAndChecked) {
  remote_->Allow(size_);
  for (const auto kind : {Checksum::Kind::kSha256, Checksum::Kind::kMd5, Checksum::Kind::kCrc32c}) {
    const auto file = BeginPinned(Pin(all_, kind));
    EXPECT_TRUE(file->WaitUntilWhole({}).ok());
    EXPECT_EQ(Read(*file, 0, size_, status_), all_);
  }
}

TEST_F(PinnedFileTest, NothingIsGivenBefore) {
  remote_->Allow(2 * kMib);
  const auto file = BeginPinned(Pin(all_));
  std::stop_source stop;
  const auto reader = file->Open(0, stop.get_token());
  ASSERT_TRUE(reader.ok());
  std::jthread stopper([&] {
    remote_->WaitForWant(2 * kMib);
    stop.request_stop();
  });
  std::string bytes(10, '\0');
  EXPECT_EQ((*reader)->Read(bytes).status().code(), Code::kCancelled);
}

TEST_F(PinnedFileTest, WhatAnEarlierRunLeftIsHashedAgain) {
  remote_->Allow(3 * kMib);
  {
    const auto file = BeginPinned(Pin(all_));
    remote_->WaitForWant(3 * kMib);
  }
  remote_->Allow(size_);
  EXPECT_TRUE(BeginPinned(Pin(all_))->WaitUntilWhole({}).ok());
  EXPECT_EQ(remote_->opened(), (std::vector<std::uint64_t>{0, 3 * kMib}));
}

TEST_F(PinnedFileTest, DamageOnThisMachineIsFound) {
  remote_->Allow(3 * kMib);
  {
    const auto file = BeginPinned(Pin(all_));
    remote_->WaitForWant(3 * kMib);
  }
  std::string left = ReadFile(path_);
  left[100] ^= 1;
  WriteFile(path_, left);
  remote_->Allow(size_);
  EXPECT_EQ(BeginPinned(Pin(all_))->WaitUntilWhole({}).code(), Code::kDataLoss);
  EXPECT_TRUE(BeginPinned(Pin(all_))->WaitUntilWhole({}).ok()) << "the damage is kept";
}

TEST_F(PinnedFileTest, AnotherFileIsToldFromIt) {
  remote_->Allow(size_);
  const Checksum wanted = Pin("something else");
  {
    const auto file = BeginPinned(wanted);
    const Status failure = file->WaitUntilWhole({});
    EXPECT_EQ(failure.code(), Code::kDataLoss);
    EXPECT_EQ(failure.message(),
              StrCat("https://host/file: is not the file that it is pinned to: ", ToString(wanted),
                     " was wanted, and the downloaded file has ", ToString(Pin(all_)),
                     "; check `checksum` and the address; the next run fetches it anew"));
    Read(*file, 0, 10, status_);
    EXPECT_EQ(status_.code(), Code::kDataLoss) << "some of it was given";
  }
  EXPECT_EQ(BeginPinned(wanted)->WaitUntilWhole({}).code(), Code::kDataLoss);
  EXPECT_EQ(remote_->opened(), (std::vector<std::uint64_t>{0, 0})) << "the same bytes were looked at again";
}

TEST_F(PinnedFileTest, IsFetchedAnewWhereThatMayHelp) {
  remote_->Allow(size_);
  std::vector<bool> asked;
  invalidate_ = [&](bool all_came_now) {
    asked.push_back(all_came_now);
    return asked.size() < 3;
  };
  EXPECT_EQ(BeginPinned(Pin("something else"))->WaitUntilWhole({}).code(), Code::kDataLoss);
  EXPECT_EQ(asked, (std::vector<bool>{true, true, true}));
  EXPECT_EQ(remote_->opened(), (std::vector<std::uint64_t>{0, 0, 0}));
}

TEST_F(ArrivingFileTest, AnEmptyFileIsWhole) {
  remote_ = std::make_shared<SlowFile>(0);
  const auto file = Begin(0);
  EXPECT_TRUE(file->WaitUntilWhole({}).ok());
  EXPECT_TRUE(remote_->opened().empty());
}

}  // namespace

}  // namespace pipeline
