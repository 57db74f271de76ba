#include "storage/cache/cached_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "base/digest.h"
#include "base/str.h"
#include "storage/memory_store.h"
#include "tests/storage/remote/gcs/gcs_fixture.h"
#include "tests/storage/store_conformance.h"
#include "tests/support/fault_store.h"
#include "tests/support/memory_file.h"
#include "tests/support/temp_dir.h"

namespace pipeline {

/// Every object that the suites read was written through the cache, and stays in it.
class CachedBackend {
 public:
  static constexpr bool kKeepsStates = true;
  Store& store() { return *store_; }

 private:
  TempDir dir_;
  std::unique_ptr<ObjectCache> cache_ = ObjectCache::Open(dir_ / "cache", std::nullopt).value();
  const std::unique_ptr<Store> store_ =
      NewCachedStore(std::make_shared<MemoryStore>(), "gs://b/home", *cache_);
};
INSTANTIATE_TYPED_TEST_SUITE_P(Cached, StoreReading, CachedBackend);
INSTANTIATE_TYPED_TEST_SUITE_P(Cached, StoreConformance, CachedBackend);

namespace {

constexpr std::size_t kBlock = kCacheBlockBytes;

/// Bytes of which no two blocks are the same.
std::string BytesOf(std::size_t size, std::string_view seed = "seed") {
  std::string bytes;
  while (bytes.size() < size) bytes += DigestOf(StrCat(seed, bytes.size())).ToHex();
  bytes.resize(size);
  return bytes;
}

std::uint64_t DiskOf(const std::filesystem::path& directory) {
  std::uint64_t bytes = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(directory)) {
    struct stat info {};
    if (file.is_regular_file() && ::stat(file.path().c_str(), &info) == 0)
      bytes += static_cast<std::uint64_t>(info.st_blocks) * 512;
  }
  return bytes;
}

std::vector<std::filesystem::path> FilesOf(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> files;
  for (const auto& file : std::filesystem::recursive_directory_iterator(directory))
    if (file.is_regular_file() && file.path().filename().string().size() == 32) files.push_back(file.path());
  return files;
}

class CachedStoreTest : public testing::Test {
 protected:
  using Call = FaultStore::Call;

  void OpenCache(std::optional<std::uint64_t> most = std::nullopt) {
    cache_ = ObjectCache::Open(dir_ / "cache", most).value();
    store_ = NewCachedStore(far_, "gs://b/home", *cache_);
  }
  void SetUp() override { OpenCache(); }

  /// An object that another machine wrote.
  void WriteFar(const std::string& name, std::string_view bytes) {
    ASSERT_TRUE(WriteObject(memory_, name, bytes, Condition::ReplaceAny()).ok());
  }
  std::string Read(const std::string& name, std::uint64_t offset, std::size_t size) {
    const auto file = store_->Open(name);
    EXPECT_TRUE(file.ok()) << file.status().message();
    if (!file.ok()) return {};
    const auto reader = (*file)->Open(offset, {});
    std::string bytes(size, '\0');
    const Status read = ReadExactly(**reader, bytes);
    EXPECT_TRUE(read.ok()) << read.message();
    return bytes;
  }
  int Reads() const { return far_->calls(Call::kRead); }

  TempDir dir_;
  MemoryStore memory_;
  std::shared_ptr<FaultStore> far_ = std::make_shared<FaultStore>(memory_);
  std::unique_ptr<ObjectCache> cache_;
  std::unique_ptr<Store> store_;
};

TEST_F(CachedStoreTest, EachBlockArrivesOnce) {
  const std::string bytes = BytesOf(5 * kBlock + 77);
  WriteFar("a", bytes);
  EXPECT_EQ(Read("a", 3 * kBlock + 5, 10), bytes.substr(3 * kBlock + 5, 10));
  const int first = Reads();
  EXPECT_GT(first, 0);
  EXPECT_EQ(Read("a", 3 * kBlock + 100, kBlock / 2), bytes.substr(3 * kBlock + 100, kBlock / 2));
  EXPECT_EQ(Reads(), first) << "the same block was requested again";
  EXPECT_LE(DiskOf(dir_.path()), 2 * kBlock) << "more than one block is here";
  EXPECT_EQ(Read("a", 0, bytes.size()), bytes);
  const int all = Reads();
  EXPECT_EQ(Read("a", 0, bytes.size()), bytes);
  EXPECT_EQ(Read("a", 5 * kBlock, 77), bytes.substr(5 * kBlock));
  EXPECT_EQ(Reads(), all);
}

TEST_F(CachedStoreTest, AnObjectThatWasWrittenHereDoesNotComeBack) {
  for (const std::size_t size : {std::size_t{1}, kBlock - 1, kBlock, 3 * kBlock + 9}) {
    const std::string bytes = BytesOf(size), name = StrCat("object-", size);
    ASSERT_TRUE(WriteObject(*store_, name, bytes, Condition::CreateOnly()).ok());
    EXPECT_EQ(Read(name, 0, size), bytes);
  }
  EXPECT_EQ(Reads(), 0);
}

TEST_F(CachedStoreTest, AnotherProcessUsesTheSameCopies) {
  const std::string bytes = BytesOf(2 * kBlock);
  WriteFar("a", bytes);
  EXPECT_EQ(Read("a", 0, bytes.size()), bytes);
  const int all = Reads();
  const auto other_cache = ObjectCache::Open(dir_ / "cache", std::nullopt).value();
  const std::unique_ptr<Store> other = NewCachedStore(far_, "gs://b/home", *other_cache);
  const std::unique_ptr<Store> elsewhere = NewCachedStore(far_, "gs://b/other", *other_cache);
  const auto read = [](Store& store) { return ReadObject(store, "a", 1 << 30).value(); };
  EXPECT_EQ(read(*other), bytes);
  EXPECT_EQ(Reads(), all);
  EXPECT_EQ(read(*elsewhere), bytes);
  EXPECT_GT(Reads(), all) << "copies of another location were used";
}

TEST_F(CachedStoreTest, AnotherVersionIsAnotherObject) {
  WriteFar("a", BytesOf(kBlock, "old"));
  EXPECT_EQ(Read("a", 0, kBlock), BytesOf(kBlock, "old"));
  WriteFar("a", BytesOf(kBlock, "new"));
  EXPECT_EQ(Read("a", 0, kBlock), BytesOf(kBlock, "new"));
}

TEST_F(CachedStoreTest, AnObjectThatIsReplacedWhileItIsReadFails) {
  WriteFar("a", BytesOf(3 * kBlock, "old"));
  const auto file = store_->Open("a");
  ASSERT_TRUE(file.ok());
  WriteFar("a", BytesOf(3 * kBlock, "new"));
  std::string bytes(10, '\0');
  const Status read = ReadExactly(**(*file)->Open(kBlock, {}), bytes);
  EXPECT_EQ(read.code(), Code::kDataLoss);
  EXPECT_NE(read.Detail<ReplacedWhileRead>(), nullptr);
}

TEST_F(CachedStoreTest, ADamagedBlockArrivesAgain) {
  const std::string bytes = BytesOf(2 * kBlock + 5);
  ASSERT_TRUE(WriteObject(*store_, "a", bytes, Condition::CreateOnly()).ok());
  const std::vector<std::filesystem::path> files = FilesOf(dir_.path());
  ASSERT_EQ(files.size(), 1u);
  // A byte of each block, of each record, and the end of the file, as after a power cut.
  const std::string copy = ReadFile(files.front());
  for (const std::size_t at : {std::size_t{9}, kBlock, 2 * kBlock + 4, bytes.size() + 2, bytes.size() + 9}) {
    std::string damaged = copy;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    WriteFile(files.front(), damaged);
    const int before = Reads();
    EXPECT_EQ(Read("a", 0, bytes.size()), bytes) << at;
    EXPECT_GT(Reads(), before) << at;
    EXPECT_EQ(ReadFile(files.front()), copy) << "the block was not stored again";
  }
  WriteFile(files.front(), copy.substr(0, kBlock + 7));
  EXPECT_EQ(Read("a", 0, bytes.size()), bytes);
}

TEST_F(CachedStoreTest, AFileHasTheFormOfItsPage) {
  ASSERT_TRUE(WriteObject(*store_, "a", "hello", Condition::CreateOnly()).ok());
  ASSERT_EQ(FilesOf(dir_.path()).size(), 1u);
  EXPECT_EQ(ReadFile(FilesOf(dir_.path()).front()), "hello\x4c\xbb\x71\x9a\x3c\xd2\x01\xff");
}

TEST_F(CachedStoreTest, TheLeastRecentlyUsedObjectsGo) {
  OpenCache(16 * kBlock);
  for (int number = 0; number < 40; ++number) {
    ASSERT_TRUE(WriteObject(*store_, StrCat("object-", number), BytesOf(kBlock, StrCat(number)), {}).ok());
    EXPECT_EQ(Read("object-0", 0, kBlock), BytesOf(kBlock, "0"));
    EXPECT_LE(DiskOf(dir_.path()), 18 * (kBlock + 4096)) << number;
  }
  EXPECT_EQ(Reads(), 0) << "the object that was used again and again went";
  EXPECT_EQ(Read("object-39", 0, kBlock), BytesOf(kBlock, "39"));
  EXPECT_EQ(Reads(), 0) << "the newest object went";
  EXPECT_EQ(Read("object-3", 0, kBlock), BytesOf(kBlock, "3"));
  EXPECT_GT(Reads(), 0) << "the oldest object stayed";
}

TEST_F(CachedStoreTest, AnObjectThatGoesWhileItIsOpenStaysReadable) {
  OpenCache(16 * kBlock);
  const std::string bytes = BytesOf(4 * kBlock);
  WriteFar("open", bytes);
  const auto file = store_->Open("open");
  ASSERT_TRUE(file.ok());
  const auto reader = (*file)->Open(0, {});
  std::string front(kBlock, '\0');
  ASSERT_TRUE(ReadExactly(**reader, front).ok());
  for (int number = 0; number < 40; ++number)
    ASSERT_TRUE(WriteObject(*store_, StrCat("object-", number), BytesOf(kBlock, StrCat(number)), {}).ok());
  std::string rest(3 * kBlock, '\0');
  ASSERT_TRUE(ReadExactly(**reader, rest).ok());
  EXPECT_EQ(front + rest, bytes);
  EXPECT_LE(DiskOf(dir_.path()), 18 * (kBlock + 4096)) << "blocks of an object that went take disk";
}

TEST_F(CachedStoreTest, NothingIsKeptWithoutRoomForIt) {
  OpenCache(0);
  const std::string bytes = BytesOf(kBlock + 5);
  ASSERT_TRUE(WriteObject(*store_, "a", bytes, Condition::CreateOnly()).ok());
  EXPECT_EQ(Read("a", 0, bytes.size()), bytes);
  EXPECT_GT(Reads(), 0);
  EXPECT_TRUE(FilesOf(dir_.path()).empty());
}

TEST_F(CachedStoreTest, ACacheThatCannotBeWrittenLosesTimeAlone) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  const std::string bytes = BytesOf(kBlock + 5);
  std::filesystem::permissions(dir_ / "cache", std::filesystem::perms::owner_read);
  EXPECT_TRUE(WriteObject(*store_, "a", bytes, Condition::CreateOnly()).ok());
  EXPECT_EQ(Read("a", 0, bytes.size()), bytes);
  std::filesystem::permissions(dir_ / "cache", std::filesystem::perms::owner_all);
}

TEST_F(CachedStoreTest, AFailedWriteLeavesNothing) {
  far_->FailNth(Call::kCommit, 1, Status(Code::kUnavailable, "no answer"));
  EXPECT_FALSE(WriteObject(*store_, "a", BytesOf(3 * kBlock), Condition::CreateOnly()).ok());
  EXPECT_TRUE(FilesOf(dir_.path()).empty());
  EXPECT_LE(DiskOf(dir_ / "cache/new"), 4096u);
}

TEST_F(CachedStoreTest, TemporariesOfDeadProcessesGo) {
  const std::string left = dir_ / "cache/new/.object.tmp.00000000-1-1";
  WriteFile(left, BytesOf(kBlock));
  OpenCache();
  EXPECT_FALSE(std::filesystem::exists(left));
}

TEST_F(CachedStoreTest, ManyThreadsAndCachesReadTheSame) {
  const std::string bytes = BytesOf(20 * kBlock + 1);
  WriteFar("a", bytes);
  std::vector<std::unique_ptr<ObjectCache>> caches;
  for (int at = 0; at < 2; ++at)
    caches.push_back(ObjectCache::Open(dir_ / "cache", std::uint64_t{8 * kBlock}).value());
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 6; ++thread)
    threads.emplace_back([&, thread] {
      const std::unique_ptr<Store> store =
          NewCachedStore(far_, "gs://b/home", *caches[static_cast<std::size_t>(thread % 2)]);
      for (int turn = 0; turn < 5; ++turn) {
        const Result<std::string> read = ReadObject(*store, "a", 1 << 30);
        ASSERT_TRUE(read.ok()) << read.status().message();
        EXPECT_EQ(*read == bytes, true);
      }
    });
}

TEST(CachedBucketTest, ARangeIsNoWholeObject) {
  GcsFixture fixture;
  TempDir dir;
  const auto cache = ObjectCache::Open(dir / "cache", std::nullopt).value();
  const std::string bytes = BytesOf(64 * kBlock);
  const std::shared_ptr<Store> bucket = fixture.Open();
  ASSERT_TRUE(WriteObject(*bucket, "spill", bytes, {}).ok());
  const std::unique_ptr<Store> store = NewCachedStore(bucket, "gs://bucket/out", *cache);
  const auto file = store->Open("spill");
  ASSERT_TRUE(file.ok());
  for (const std::size_t at : {5 * kBlock + 3, 40 * kBlock, std::size_t{0}}) {
    std::string piece(1000, '\0');
    ASSERT_TRUE(ReadExactly(**(*file)->Open(at, {}), piece).ok());
    EXPECT_EQ(piece, bytes.substr(at, 1000));
  }
  EXPECT_LE(DiskOf(dir.path()), 4 * kBlock);
  EXPECT_EQ(BytesFrom(**file, 0) == bytes, true);
  // A copy to another name is made by the servers.
  const int before = fixture.fake.requests("storage.objects.rewrite");
  const auto writer = store->Create("copy", {});
  ASSERT_TRUE((*writer)->AppendFile(**file, {}).ok());
  ASSERT_TRUE((*writer)->Commit({}).ok());
  EXPECT_EQ(fixture.fake.requests("storage.objects.rewrite"), before + 1);
}

}  // namespace
}  // namespace pipeline
