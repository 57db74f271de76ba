#include "plugins/train/rows/row_supply.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "base/digest.h"
#include "base/str.h"
#include "plugins/train/directory_lock.h"
#include "plugins/train/object_files.h"
#include "storage/memory_store.h"
#include "tests/plugins/train/rows/packed_rows.h"
#include "tests/plugins/train/storage_call.h"
#include "tests/support/fault_store.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

namespace fs = std::filesystem;
using Call = FaultStore::Call;

template <class Condition>
bool Soon(const Condition& condition) {
  for (int look = 0; look < 1500 && !condition(); ++look)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return condition();
}

/// A host with a disk of its own; the bucket is the test's.
class RowSupplyTest : public testing::Test {
 protected:
  RowSupplyTest() : rows_({20'000, 0, 21'000}), call_(faulty_), host_call_(call_.call()) {
    for (const auto& [name, bytes] : rows_.objects()) Put("data/" + name, bytes);
    job_.stage = "train";
    job_.run_uri = "gs://bkt/run";
    job_.data_uri = "gs://bkt/data";
    job_.data_manifest = "gs://bkt/data/MANIFEST.json";
    job_.kept = root_ / "kept";
    job_.settings["seed"] = 3;
  }

  void Put(const std::string& name, const std::string& bytes) {
    EXPECT_TRUE(WriteObject(store_, name, bytes, Condition::ReplaceAny()).ok());
  }
  Status Open(std::uint64_t free = std::uint64_t{1} << 40) {
    supply_.reset();
    Result<std::unique_ptr<RowSupply>> opened =
        RowSupply::Open(job_, host_call_, [free](const std::string&) { return free; });
    if (opened.ok()) supply_ = std::move(*opened);
    return opened.status();
  }
  /// Blocks, with room for so many, on host 0 or on another one that finds the checksums there.
  void OpenBlocks(std::uint64_t room, bool leads = true) {
    job_.settings["data_disk"] = rows_.whole_bytes() + room * PackedRows::kBlockBytes;
    const Status opened = Open();
    ASSERT_TRUE(opened.ok()) << opened.message();
    ASSERT_FALSE(supply_->blocks_directory().empty());
    if (!leads) return;
    supply_->BeginChecksums();
    const Status made = supply_->AwaitChecksums();
    ASSERT_TRUE(made.ok()) << made.message();
  }
  void Begin() {
    const Status begun = supply_->BeginAttempt([] { return false; });
    ASSERT_TRUE(begun.ok()) << begun.message();
  }
  /// A worker is about to read the window of a sample; returns the blocks of the window.
  std::vector<std::uint64_t> Read(std::uint64_t sample) {
    Json event;
    event["id"] = ++events_;
    event["worker"] = 2;
    event["shuffled"] = true;
    event["sample"] = sample;
    supply_->Hear(event);
    EXPECT_EQ(ReadFile(supply_->blocks_directory() + "/heard-2"), StrCat(events_));
    pipe_sample_order order;
    pipe_sample_order_start(&order, 41'000, 3);
    std::vector<std::uint64_t> blocks(kPipeWindowBlocks);
    blocks.resize(pipe_sample_order_window(&order, sample, blocks.data(), &end_));
    return blocks;
  }
  bool Here(std::uint64_t block) const {
    std::uint64_t found = 0;
    for (const char* shard : {"-0", "-2"})
      found += FileBytes(StrCat(supply_->blocks_directory(), "/", block, shard));
    return found == (block == 40 ? 40 * PackedRows::kRowBytes : PackedRows::kBlockBytes);
  }
  bool AllHere(const std::vector<std::uint64_t>& blocks) const {
    return std::all_of(blocks.begin(), blocks.end(), [this](std::uint64_t block) { return Here(block); });
  }
  static std::uint64_t FileBytes(const std::string& path) {
    std::error_code error;
    const std::uint64_t bytes = fs::file_size(path, error);
    return error ? 0 : bytes;
  }
  std::uint64_t OnDisk() const {
    std::uint64_t bytes = 0;
    std::error_code error;
    for (fs::recursive_directory_iterator at(supply_->directory(), error), end; at != end;
         at.increment(error))
      if (at->path().filename() != "MANIFEST.json" && at->path().filename() != "heard-2")
        bytes += FileBytes(at->path().string());
    return bytes;
  }
  Json Failure() const {
    const std::string path = supply_->blocks_directory() + "/failure.json";
    return fs::exists(path) ? *Json::Parse(ReadFile(path)) : Json();
  }
  std::string Digest() const { return DigestOf(rows_.objects().at("MANIFEST.json")).ToHex(); }

  TempDir root_;
  const PackedRows rows_;
  MemoryStore store_;
  FaultStore faulty_{store_};
  StorageCall call_;
  PluginServices host_call_;
  TrainJob job_;
  std::unique_ptr<RowSupply> supply_;
  std::int64_t events_ = 0;
  std::uint64_t end_ = 0;  // of the window that was read last
};

TEST_F(RowSupplyTest, RowsThatFitAreFetchedAsAWhole) {
  job_.settings["data_disk"] = rows_.bytes();
  ASSERT_TRUE(Open().ok());
  EXPECT_TRUE(supply_->blocks_directory().empty());
  EXPECT_EQ(ReadFile(supply_->directory() + "/train-2.bin"), rows_.objects().at("train-2.bin"));
  EXPECT_EQ(supply_->fetched(), rows_.bytes());
  EXPECT_EQ(supply_->peak(), rows_.bytes());
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(supply_->fetched(), 0u) << "they are there";
}

TEST_F(RowSupplyTest, WholeRowsAreSharedAndAnotherTrainingsShardsStay) {
  job_.settings["data_disk"] = rows_.bytes();
  ASSERT_TRUE(Open().ok());
  {
    const auto other = RowSupply::Open(job_, host_call_);
    ASSERT_TRUE(other.ok()) << other.status().message();
    const auto users = WaitForUsers(supply_->directory(), [] { return true; });
    EXPECT_EQ(users.status().code(), Code::kCancelled);
  }
  const std::string directory = supply_->directory();
  EXPECT_FALSE(WaitForUsers(directory, [] { return true; }).ok()) << "one of the two is left";
  supply_.reset();
  EXPECT_TRUE(WaitForUsers(directory, [] { return true; }).ok());
  OpenBlocks(20);
  EXPECT_FALSE(fs::exists(directory + "/train-0.bin"));
}

TEST_F(RowSupplyTest, HalfOfTheFreeSpaceIsTheirsByDefault) {
  ASSERT_TRUE(Open(2 * rows_.bytes()).ok());
  EXPECT_TRUE(supply_->blocks_directory().empty());
  ASSERT_TRUE(Open(0).ok()) << "a whole copy of an earlier version stays";
  EXPECT_TRUE(supply_->blocks_directory().empty());
  fs::remove(supply_->directory() + "/train-0.bin");
  const Status opened = Open(0);
  EXPECT_EQ(opened.code(), Code::kResourceExhausted) << opened.message();
}

TEST_F(RowSupplyTest, WindowsAreFetchedAheadAndRemovedBehind) {
  OpenBlocks(20);
  Begin();
  EXPECT_EQ(OnDisk(), rows_.whole_bytes());
  std::vector<std::uint64_t> before;
  std::uint64_t sample = 100;
  for (int window = 0; window < 7; ++window, sample = end_) {
    const std::vector<std::uint64_t> blocks = Read(sample);
    ASSERT_TRUE(Soon([&] { return AllHere(blocks); })) << sample;
    EXPECT_LE(OnDisk(), rows_.whole_bytes() + 20 * PackedRows::kBlockBytes);
    before = blocks;
  }
  EXPECT_LE(supply_->peak(), rows_.whole_bytes() + 20 * PackedRows::kBlockBytes);
  EXPECT_GE(supply_->peak(), rows_.whole_bytes() + 16 * PackedRows::kBlockBytes);
  EXPECT_LT(rows_.whole_bytes() + 20 * PackedRows::kBlockBytes, rows_.bytes()) << "the rows do not fit";
  // The ranges of a block, one behind the other, are its rows.
  const std::string rows =
      ReadFile(StrCat(supply_->blocks_directory(), "/", before[0], before[0] * 1024 < 20'000 ? "-0" : "-2"));
  EXPECT_EQ(rows.substr(0, PackedRows::kRowBytes), PackedRows::Row(before[0] * 1024));
}

TEST_F(RowSupplyTest, TooLittleRoomIsRefusedWithTheNumber) {
  const std::uint64_t least = rows_.whole_bytes() + 18 * PackedRows::kBlockBytes;
  job_.settings["data_disk"] = least - 1;
  const Status opened = Open();
  EXPECT_EQ(opened.code(), Code::kResourceExhausted);
  EXPECT_NE(opened.message().find(StrCat("(", least, " bytes) of them at a time")), std::string_view::npos)
      << opened.message();
  job_.settings["data_disk"] = least;
  EXPECT_TRUE(Open().ok());
  job_.settings["data_disk"] = rows_.whole_bytes() - 1;
  const Status smaller = Open();
  EXPECT_NE(smaller.message().find(StrCat("needs beside the split `train`")), std::string_view::npos)
      << smaller.message();
}

/// write_bert writes no index, by which a part of a shard could be fetched.
TEST_F(RowSupplyTest, PairsAreFetchedAsAWholeOrRefusedWithTheNumber) {
  std::string manifest = rows_.objects().at("MANIFEST.json");
  manifest.replace(manifest.find("packed.json"), std::string_view("packed.json").size(), "bert.json");
  Put("data/MANIFEST.json", manifest);
  Put("data/bert.json", rows_.objects().at("packed.json"));
  job_.settings["data_disk"] = rows_.bytes() - 1;
  const Status opened = Open();
  EXPECT_EQ(opened.code(), Code::kResourceExhausted);
  EXPECT_NE(opened.message().find("are fetched as a whole, take "), std::string_view::npos)
      << opened.message();
  EXPECT_NE(opened.message().find(StrCat("; set `data_disk` to ", rows_.bytes(), " or more")),
            std::string_view::npos)
      << opened.message();
  job_.settings["data_disk"] = rows_.bytes();
  ASSERT_TRUE(Open().ok());
  EXPECT_TRUE(supply_->blocks_directory().empty());
  EXPECT_EQ(supply_->fetched(), rows_.bytes());
  supply_->BeginChecksums();
  EXPECT_TRUE(supply_->AwaitChecksums().ok()) << "a leader of several hosts waits for this";
}

TEST_F(RowSupplyTest, ANewStartUsesTheRangesThatAreRight) {
  OpenBlocks(20);
  Begin();
  const std::vector<std::uint64_t> blocks = Read(0);
  ASSERT_TRUE(Soon([&] { return AllHere(blocks); }));
  ASSERT_TRUE(Soon([&] { return supply_->fetched() > rows_.whole_bytes() + 19 * PackedRows::kBlockBytes; }));
  const std::string directory = supply_->blocks_directory();
  const auto range = [&](std::size_t at) {
    return StrCat(directory, "/", blocks[at], blocks[at] * 1024 < 19'456 ? "-0" : "-2");
  };
  std::string bytes = ReadFile(range(3));
  bytes[9] ^= 1;
  WriteFile(range(3), bytes);
  WriteFile(range(4), "short");
  WriteFile(directory + "/17-0.part", "half");
  WriteFile(directory + "/99-0", "none of these rows");
  supply_.reset();

  OpenBlocks(20, false);
  Begin();
  EXPECT_FALSE(fs::exists(directory + "/17-0.part"));
  EXPECT_FALSE(fs::exists(directory + "/99-0"));
  EXPECT_FALSE(fs::exists(range(3)));
  Read(0);
  ASSERT_TRUE(Soon([&] { return AllHere(blocks); }));
  EXPECT_EQ(supply_->fetched(), 2 * PackedRows::kBlockBytes) << "the damaged ones";
}

TEST_F(RowSupplyTest, AnObjectThatDiffersEndsTheWorkersWithCode65) {
  OpenBlocks(20);
  Begin();
  std::string shard = rows_.objects().at("train-2.bin");
  for (std::size_t at = 0; at < shard.size(); at += 1000) shard[at] ^= 1;
  Put("data/train-2.bin", shard);
  Read(0);
  ASSERT_TRUE(Soon([&] { return Failure().is_object(); }));
  EXPECT_EQ(Failure()["code"].AsInt(), 65);
  EXPECT_NE(Failure()["error"].AsString().find("train-2.bin: has"), std::string_view::npos);
  Put("data/train-2.bin", rows_.objects().at("train-2.bin"));
  Begin();
  EXPECT_TRUE(Failure().is_null());
  const std::vector<std::uint64_t> blocks = Read(0);
  EXPECT_TRUE(Soon([&] { return AllHere(blocks); }));
}

TEST_F(RowSupplyTest, AStoreThatDoesNotAnswerEndsThemWithCode75) {
  OpenBlocks(20);
  Begin();
  for (int call = 1; call <= 400; ++call)
    faulty_.FailNth(Call::kOpen, call, Status(Code::kUnavailable, "no"));
  Read(0);
  ASSERT_TRUE(Soon([&] { return Failure().is_object(); }));
  EXPECT_EQ(Failure()["code"].AsInt(), 75);
}

TEST_F(RowSupplyTest, HostsTakeOnlyChecksumsThatTheManifestConfirms) {
  OpenBlocks(20, false);
  EXPECT_EQ(supply_->BeginAttempt([] { return false; }).code(), Code::kUnavailable)
      << "host 0 has not written them";
  OpenBlocks(20);
  const std::string name = StrCat("run/rows/", Digest(), ".json");
  std::string text;
  {
    const auto object = store_.Stat(name);
    ASSERT_TRUE(object.ok() && *object);
    const auto read = ReadText(*host_call_.storage, "gs://bkt/" + name, 1 << 20);
    ASSERT_TRUE(read.ok());
    text = *read;
  }
  std::string changed = text;
  const std::size_t digit = changed.find("\"crc32c\":\"") + 12;
  changed[digit] = changed[digit] == '0' ? '1' : '0';
  Put(name, changed);
  OpenBlocks(20, false);
  EXPECT_EQ(supply_->BeginAttempt([] { return false; }).code(), Code::kDataLoss);
  OpenBlocks(20);  // host 0 makes them again
  EXPECT_EQ(*ReadText(*host_call_.storage, "gs://bkt/" + name, 1 << 20), text);
  Begin();
  // A later start finds them, and reads no shard.
  const int opened = faulty_.calls(Call::kOpen);
  OpenBlocks(20);
  EXPECT_LE(faulty_.calls(Call::kOpen) - opened, 2);
}

TEST_F(RowSupplyTest, HostZeroWithAllRowsMakesThemFromItsDisk) {
  job_.settings["data_disk"] = rows_.bytes();
  ASSERT_TRUE(Open().ok());
  supply_->BeginChecksums();
  ASSERT_TRUE(supply_->AwaitChecksums().ok());
  OpenBlocks(20, false);
  Begin();
}

}  // namespace
}  // namespace pipeline
