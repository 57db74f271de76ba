#include "storage/remote/object_copy.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <utility>
#include <vector>

#include "base/crc32c.h"
#include "storage/kept_part.h"
#include "storage/local_store.h"
#include "storage/memory_store.h"
#include "storage/remote/http/compared_bytes.h"
#include "tests/storage/store_reading.h"
#include "tests/support/map_store.h"
#include "tests/support/memory_file.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

/// A store where something happens just before an object is written.
class CrowdedStore final : public Store {
 public:
  std::function<void(Store&)> before_create;

  Result<std::unique_ptr<ByteFile>> Open(std::string_view name) override { return inner_.Open(name); }
  Result<std::unique_ptr<ObjectWriter>> Create(std::string_view name, Condition condition) override {
    if (const auto act = std::exchange(before_create, nullptr)) act(inner_);
    return inner_.Create(name, std::move(condition));
  }
  Result<std::optional<ObjectInfo>> Stat(std::string_view name) override { return inner_.Stat(name); }
  Result<std::vector<ObjectInfo>> List(std::string_view prefix) override { return inner_.List(prefix); }
  Status Remove(std::string_view name) override { return inner_.Remove(name); }
  Status Sweep(std::string_view prefix) override { return inner_.Sweep(prefix); }

 private:
  MemoryStore inner_;
};

/// Fails to be read so many times as if it had been damaged on the way.
class DamagedFile final : public ByteFile {
 public:
  DamagedFile(std::string bytes, int times) : file_(std::move(bytes)), times_(times) {}
  std::uint64_t size() const override { return file_.size(); }
  Result<std::unique_ptr<ByteReader>> Open(std::uint64_t offset, std::stop_token stop) const override {
    if (times_-- > 0)
      return Status(Code::kUnavailable, "the bytes that arrived have another CRC-32C than the object");
    return file_.Open(offset, std::move(stop));
  }

 private:
  const StringFile file_;
  mutable int times_;
};

class ObjectCopyTest : public testing::Test {
 protected:
  Result<CopyOutcome> Copy(const std::string& bytes, bool replaces = false) {
    return CopyObject({"source", std::make_shared<StringFile>(bytes), {}},
                      {store_, "a", "store/a", replaces, store_.Stat("a").value()}, {});
  }
  void Put(Store& store, std::string_view bytes) {
    ASSERT_TRUE(WriteObject(store, "a", bytes, Condition::ReplaceAny()).ok());
  }
  std::string Get() { return ReadObject(store_, "a", 1 << 20).value(); }

  CrowdedStore store_;
};

TEST_F(ObjectCopyTest, CopiesOnceAndKnowsTheSameBytesAgain) {
  EXPECT_EQ(*Copy("bytes"), CopyOutcome::kCopied);
  EXPECT_EQ(*Copy("bytes"), CopyOutcome::kWasThere);
  EXPECT_EQ(Get(), "bytes");
}

TEST_F(ObjectCopyTest, ReplacesOtherBytesOnlyWhereItIsTold) {
  Put(store_, "other");
  for (const std::string bytes : {"bytes", "longer bytes"}) {
    EXPECT_EQ(Copy(bytes).status().code(), Code::kAlreadyExists);
    EXPECT_EQ(Get(), "other");
  }
  EXPECT_EQ(*Copy("bytes", true), CopyOutcome::kCopied);
  EXPECT_EQ(Get(), "bytes");
}

TEST_F(ObjectCopyTest, AnotherWriterMayBeQuicker) {
  store_.before_create = [this](Store& store) { Put(store, "bytes"); };
  EXPECT_EQ(*Copy("bytes"), CopyOutcome::kWasThere);
}

TEST_F(ObjectCopyTest, WhatAnotherWriterPutThereMeanwhileIsNotReplaced) {
  store_.before_create = [this](Store& store) { Put(store, "other"); };
  EXPECT_EQ(Copy("bytes").status().code(), Code::kAlreadyExists);
  Put(store_, "old");
  store_.before_create = [this](Store& store) { Put(store, "other"); };
  EXPECT_EQ(Copy("bytes", true).status().code(), Code::kFailedPrecondition);
  EXPECT_EQ(Get(), "other");
}

TEST_F(ObjectCopyTest, WhatWasDamagedOnTheWayIsReadAgainAFewTimes) {
  const auto copy = [this](int times) {
    return CopyObject({"source", std::make_shared<DamagedFile>("bytes", times), {}},
                      {store_, "a", "store/a", false, {}}, {});
  };
  EXPECT_EQ(copy(5).status().code(), Code::kUnavailable);
  EXPECT_FALSE(store_.Stat("a").value());
  EXPECT_EQ(*copy(2), CopyOutcome::kCopied);
  EXPECT_EQ(Get(), "bytes");
}

TEST_F(ObjectCopyTest, AStopLeavesNothing) {
  std::stop_source stop;
  stop.request_stop();
  const Result<CopyOutcome> stopped = CopyObject({"source", std::make_shared<StringFile>("bytes"), {}},
                                                 {store_, "a", "store/a", false, {}}, stop.get_token());
  EXPECT_EQ(stopped.status().code(), Code::kCancelled);
  EXPECT_FALSE(store_.Stat("a").value());
}

/// A file of another machine that breaks off at `breaks` until it is allowed to go on; and where it was read
/// from.
class BreakingFile final : public ByteFile {
 public:
  explicit BreakingFile(std::string bytes) : bytes_(std::move(bytes)) {}
  std::size_t breaks = 0;
  mutable std::vector<std::uint64_t> opened;

  std::uint64_t size() const override { return bytes_.size(); }
  Result<std::unique_ptr<ByteReader>> Open(std::uint64_t offset, std::stop_token stop) const override {
    opened.push_back(offset);
    const std::size_t end = breaks > offset ? breaks : bytes_.size();
    Status failure = breaks > offset ? Status(Code::kPermissionDenied, "no more of it") : Status();
    return std::unique_ptr<ByteReader>(
        std::make_unique<MemoryReader>(bytes_.substr(static_cast<std::size_t>(offset), end - offset),
                                       std::size_t{1} << 20, std::move(stop), std::move(failure)));
  }

 private:
  const std::string bytes_;
};

class CopyToDirectoryTest : public testing::Test {
 protected:
  Result<CopyOutcome> Copy(std::shared_ptr<const ByteFile> file, const std::string& version,
                           std::optional<std::uint32_t> crc32c = {}) {
    CopyTarget to{store_, "a", "a", false, store_.Stat("a").value()};
    to.part = part_;
    to.went_on = [this](std::uint64_t bytes) { went_on_ = bytes; };
    return CopyObject({"https://host/a", std::move(file), crc32c, version}, to, {});
  }
  /// A copy that breaks off in the middle.
  void Break(const std::shared_ptr<BreakingFile>& file, const std::string& version) {
    file->breaks = kBroken;
    EXPECT_EQ(Copy(file, version).status().code(), Code::kPermissionDenied);
    file->breaks = 0;
    file->opened.clear();
  }
  std::string Get() { return ReadFile(dir_ / "a"); }
  std::size_t Files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(dir_.path()), {}));
  }

  static constexpr std::size_t kBroken = 17'000'000;
  TempDir dir_;
  LocalStore store_{dir_.path()};
  const std::string part_ = KeptPartPath(dir_ / "a");
  const std::string bytes_ = PatternBytes(20'000'000);
  std::uint64_t went_on_ = 0;
};

TEST_F(CopyToDirectoryTest, GoesOnWhereTheLastOneOfThisVersionEnded) {
  const auto file = std::make_shared<BreakingFile>(bytes_);
  Break(file, "v1");
  EXPECT_EQ(Files(), 2u);
  EXPECT_EQ(*Copy(file, "v1", Crc32c(bytes_)), CopyOutcome::kCopied);
  EXPECT_EQ(file->opened, std::vector<std::uint64_t>{kBroken - kComparedBytes});
  EXPECT_EQ(went_on_, kBroken);
  EXPECT_TRUE(Get() == bytes_);
  EXPECT_EQ(Files(), 1u);
}

TEST_F(CopyToDirectoryTest, BeginsAnewForAnotherVersion) {
  Break(std::make_shared<BreakingFile>(std::string(bytes_.rbegin(), bytes_.rend())), "v1");
  const auto file = std::make_shared<BreakingFile>(bytes_);
  EXPECT_EQ(*Copy(file, "v2"), CopyOutcome::kCopied);
  EXPECT_EQ(file->opened, std::vector<std::uint64_t>{0});
  EXPECT_TRUE(Get() == bytes_);
  EXPECT_EQ(Files(), 1u);
}

TEST_F(CopyToDirectoryTest, WhatIsNotWhatItsPlaceSaysIsDropped) {
  const auto file = std::make_shared<BreakingFile>(bytes_);
  Break(file, "v1");
  EXPECT_EQ(Copy(file, "v1", Crc32c(bytes_) ^ 1).status().code(), Code::kDataLoss);
  EXPECT_EQ(Files(), 0u);
}

TEST_F(CopyToDirectoryTest, NothingIsKeptOfWhatHasNoVersionOrIsSmall) {
  Break(std::make_shared<BreakingFile>(bytes_), "");
  const auto small = std::make_shared<BreakingFile>(bytes_.substr(0, kKeepsPartFrom - 1));
  small->breaks = kKeepsPartFrom - 2;
  EXPECT_FALSE(Copy(small, "v1").ok());
  EXPECT_EQ(Files(), 0u);
}

TEST_F(CopyToDirectoryTest, CopiesWithoutAPartThatSomebodyElseHas) {
  const Result<FileDescriptor> theirs = OpenKeptPart(part_);
  ASSERT_TRUE(theirs.ok()) << theirs.status().message();
  EXPECT_EQ(*Copy(std::make_shared<BreakingFile>(bytes_), "v1"), CopyOutcome::kCopied);
  EXPECT_TRUE(Get() == bytes_);
  EXPECT_EQ(ReadFile(part_), "");
}

}  // namespace
}  // namespace pipeline
