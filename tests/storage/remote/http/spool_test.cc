#include "storage/remote/http/spool.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/crc32c.h"
#include "storage/local_store.h"
#include "tests/storage/store_reading.h"
#include "tests/support/memory_file.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

std::size_t FilesIn(const std::string& path) {
  if (!std::filesystem::exists(path)) return 0;
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path), {}));
}

TEST(SpoolTest, FewBytesStayInMemory) {
  const TempDir dir;
  Spool spool(dir / "s");
  const std::string bytes = PatternBytes(kSpoolMemoryBytes);
  ASSERT_TRUE(spool.Append(bytes).ok());
  const auto file = spool.Open();
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(BytesFrom(**file, 5) == bytes.substr(5));
  EXPECT_EQ(FilesIn(dir / "s"), 0u);
}

TEST(SpoolTest, ManyBytesLieInAFileThatGoesWithIt) {
  const TempDir dir;
  {
    Spool spool(dir / "s");
    const std::string bytes = PatternBytes((10 << 20) + 3);
    std::string_view left = bytes;
    for (std::size_t size = 1; !left.empty(); size = size * 2 + 1) {
      const std::string_view piece = left.substr(0, size % 3'000'000);
      ASSERT_TRUE(spool.Append(piece).ok());
      left.remove_prefix(piece.size());
    }
    EXPECT_EQ(spool.size(), bytes.size());
    EXPECT_EQ(spool.crc32c(), Crc32c(bytes));
    EXPECT_TRUE(spool.Check().ok());
    const auto file = spool.Open();
    ASSERT_TRUE(file.ok());
    EXPECT_TRUE(BytesFrom(**file, 0) == bytes);
    EXPECT_EQ(FilesIn(dir / "s"), 1u);
    EXPECT_TRUE(LocalStore(dir / "s").Sweep(Spool::kSpoolName).ok());
    EXPECT_EQ(FilesIn(dir / "s"), 1u) << "a living writer's file was swept";
  }
  EXPECT_EQ(FilesIn(dir / "s"), 0u);
}

TEST(SpoolTest, NoticesThatTheDiskLies) {
  const TempDir dir;
  Spool spool(dir / "s");
  ASSERT_TRUE(spool.Append(PatternBytes(9 << 20)).ok());
  ASSERT_TRUE(spool.Open().ok());
  const std::filesystem::path path = std::filesystem::directory_iterator(dir / "s")->path();
  std::string bytes = ReadFile(path);
  bytes[1'000'000] = static_cast<char>(bytes[1'000'000] ^ 1);
  WriteFile(path, bytes);
  EXPECT_EQ(spool.Check().code(), Code::kDataLoss);
}

TEST(SpoolTest, AFileIsReadWhereItLies) {
  const TempDir dir;
  const std::string bytes = PatternBytes(9 << 20);
  WriteFile(dir / "f", bytes);
  Spool spool(dir / "s");
  spool.Adopt(LocalFile::Open(dir / "f").value());
  EXPECT_EQ(spool.size(), bytes.size());
  EXPECT_FALSE(spool.crc32c());
  EXPECT_EQ(FilesIn(dir / "s"), 0u);
  std::filesystem::remove(dir / "f");
  {
    const auto file = spool.Open();
    ASSERT_TRUE(file.ok());
    EXPECT_TRUE(BytesFrom(**file, 7) == bytes.substr(7));
    EXPECT_FALSE(spool.crc32c()) << "the first bytes were not read";
    const auto reader = (*file)->Open(0, {});
    std::string start(1000, '\0');
    ASSERT_TRUE(ReadExactly(**reader, start).ok());
    EXPECT_TRUE(BytesFrom(**file, 500) == bytes.substr(500));
    EXPECT_EQ(spool.crc32c(), Crc32c(bytes)) << "taken while it was read";
  }
  EXPECT_EQ(spool.Checksum({}).value(), Crc32c(bytes));
  EXPECT_TRUE(spool.Check().ok());
  ASSERT_TRUE(spool.Append("more").ok());
  EXPECT_EQ(spool.size(), bytes.size() + 4);
  EXPECT_EQ(spool.crc32c(), Crc32c(bytes + "more"));
  const auto file = spool.Open();
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(BytesFrom(**file, 0) == bytes + "more");
  EXPECT_EQ(FilesIn(dir / "s"), 1u);
}

TEST(SpoolTest, AFileOfAnotherMachineIsReadAsOftenAsItIsWanted) {
  const TempDir dir;
  const std::string bytes = PatternBytes(9 << 20);
  const auto remote = std::make_shared<MemoryFile>(bytes);
  {
    Spool spool(dir / "s");
    spool.Adopt({remote, "https://host/f", "v1", {}});
    EXPECT_TRUE(spool.is_remote());
    EXPECT_NE(spool.Origin().find("v1"), std::string::npos);
    EXPECT_EQ(spool.Where(), "https://host/f");
    std::vector<SpoolSum> sums;
    spool.Watch(4 << 20, [&](const SpoolSum& sum) { sums.push_back(sum); });
    const auto file = spool.Open();
    ASSERT_TRUE(file.ok());
    EXPECT_TRUE(BytesFrom(**file, 0) == bytes);
    EXPECT_EQ(spool.crc32c(), Crc32c(bytes));
    ASSERT_EQ(sums.size(), 2u);
    for (const SpoolSum& sum : sums) {
      EXPECT_GE(sum.bytes, 4u << 20);
      EXPECT_EQ(sum.crc32c, Crc32c(std::string_view(bytes).substr(0, sum.bytes)));
    }
    ASSERT_TRUE(spool.Append("more").ok());
    EXPECT_FALSE(spool.is_remote());
    EXPECT_EQ(spool.crc32c(), Crc32c(bytes + "more"));
  }
  // As another process goes on.
  Spool spool(dir / "s");
  spool.Adopt({remote, "https://host/f", "v1", {}});
  const std::size_t front = 5 << 20;
  spool.GoOnFrom({front, Crc32c(std::string_view(bytes).substr(0, front))});
  spool.GoOnFrom({7, 7});  // less than is known
  const auto file = spool.Open();
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(BytesFrom(**file, front) == bytes.substr(front));
  EXPECT_EQ(spool.crc32c(), Crc32c(bytes));
  // What it went by was wrong.
  Spool wrong(dir / "s");
  wrong.Adopt({remote, "https://host/f", "v1", {}});
  wrong.GoOnFrom({bytes.size(), 7});
  EXPECT_TRUE(wrong.Check().ok());
  EXPECT_EQ(wrong.crc32c(), Crc32c(bytes));
  // Its place says it: nothing has to be read for it.
  Spool known(dir / "s");
  known.Adopt({remote, "gs://b/f", "v1", Crc32c(bytes)});
  EXPECT_EQ(known.crc32c(), Crc32c(bytes));
  EXPECT_EQ(FilesIn(dir / "s"), 0u);
}

TEST(SpoolTest, AFileThatIsEditedMeanwhileIsTold) {
  const TempDir dir;
  WriteFile(dir / "f", PatternBytes(9 << 20));
  Spool spool(dir / "s");
  spool.Adopt(LocalFile::Open(dir / "f").value());
  WriteFile(dir / "f", PatternBytes((9 << 20) + 1));
  EXPECT_EQ(spool.Check().code(), Code::kDataLoss);
}

TEST(SpoolTest, WhatADeadWriterLeftIsSwept) {
  const TempDir dir;
  WriteFile(dir / ".object.spooled.tmp.00000000-1-1", "bytes");
  EXPECT_TRUE(LocalStore(dir.path()).Sweep(Spool::kSpoolName).ok());
  EXPECT_EQ(FilesIn(dir.path()), 0u);
}

}  // namespace
}  // namespace pipeline
