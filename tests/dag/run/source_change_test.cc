// What a source that fails, or changes while it is read, takes back of what was made of it.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "dag/run/segment_unit.h"
#include "tests/dag/toy_file.h"
#include "tests/support/toy_run.h"

namespace pipeline {
namespace {

const std::string kSecond = "  more: { type: write_tfds, input: docs, name: more, out: \"${out}\" }\n";

/// Calls `then` once, when it first sees a batch of this partition.
class AtPartition final : public RecordObserver {
 public:
  AtPartition(PartitionId id, std::function<void()> then, std::string source = "lines")
      : id_(id), then_(std::move(then)), source_(std::move(source)) {}
  std::unique_ptr<BatchProbe> Watch(const Batch& batch, const std::vector<std::string>& stages) override {
    if (batch.partition == id_ && stages.front() == source_) std::call_once(once_, then_);
    return nullptr;
  }

 private:
  const PartitionId id_;
  const std::function<void()> then_;
  const std::string source_;
  std::once_flag once_;
};

/// Waits for at most ten seconds.
void WaitUntil(const std::function<bool()>& is_so) {
  for (int tries = 0; tries < 1000 && !is_so(); ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

void Append(const std::string& path, std::string_view text) {
  std::ofstream file(path, std::ios::app | std::ios::binary);
  file << text;
}

TEST(SourceChangeTest, OnlyWhatWasMadeOfTheChangedFileIsVoid) {
  ToyPlace place;
  const std::string then = ReadFile(place.path("corpus-1.txt"));
  AtPartition changes({1, 1}, [&] { Append(place.path("corpus-1.txt"), "one more\n"); });
  place.watch = &changes;
  const ToyOutcome outcome = place.Run(kToyText, {}, kAllFailures);
  ASSERT_EQ(outcome.failures.size(), 1u);
  EXPECT_TRUE(outcome.failures[0].starts_with("text/0001-*: ")) << outcome.failures[0];
  EXPECT_NE(outcome.failures[0].find("was changed since this run began"), std::string::npos);
  EXPECT_GT(outcome.Count("done text/0001-"), 1);
  EXPECT_EQ(outcome.Count("void text/"), outcome.Count("done text/0001-")) << "all of it, and nothing else";
  EXPECT_EQ(outcome.Count("void text/0001-"), outcome.Count("void text/"));
  EXPECT_EQ(outcome.Count("end text/0001-*"), 0);
  EXPECT_EQ(outcome.Count("end text/000"), 2);
  place.watch = nullptr;
  WriteFile(place.path("corpus-1.txt"), then);
  const ToyOutcome again = place.Ok(kToyText);
  EXPECT_EQ(again.Count("done text/0001-"), again.Count("done text/000")) << "the others stand";
}

TEST(SourceChangeTest, OtherBytesUnderTheSameTimesVoidTheSame) {
  ToyPlace place;
  place.adjust = [](Environment& environment) {
    environment.compare_rest = [](const ByteFile&, std::stop_token) {
      return ChangedInSilence("corpus.txt", "/corpus.txt", 0, 7);
    };
  };
  const ToyOutcome outcome = place.Run(kToyText, {}, kAllFailures);
  ASSERT_EQ(outcome.failures.size(), 3u);
  EXPECT_NE(
      outcome.failures[0].find("corpus.txt: its bytes 0 to 7 are not those that its digest was made of"),
      std::string::npos)
      << outcome.failures[0];
  EXPECT_GT(outcome.Count("done text/"), 3);
  EXPECT_EQ(outcome.Count("void text/"), outcome.Count("done text/"));
  EXPECT_EQ(outcome.Count("end text/"), 0);
  place.adjust = {};
  place.Ok(kToyText);
}

TEST(SourceChangeTest, WhatReadsItsPartitionsIsVoidToo) {
  ToyPlace place;
  AtPartition changes({1, 1}, [&] { Append(place.path("corpus-1.txt"), "one more\n"); });
  place.watch = &changes;
  const ToyOutcome outcome = place.Run(kToyText + kSecond, {}, kAllFailures);
  EXPECT_NE(outcome.code, Code::kOk);
  for (const std::string stage : {"docs", "text", "more"}) {
    EXPECT_EQ(outcome.Count("void " + stage + "/"), outcome.Count("done " + stage + "/0001-")) << stage;
    EXPECT_EQ(outcome.Count("void " + stage + "/0001-"), outcome.Count("void " + stage + "/")) << stage;
  }
  place.watch = nullptr;
  place.Ok(kToyText + kSecond);
}

const std::string kLong =
    "  long: { type: decompress, input: source, partition: 120, max_record_bytes: 1KiB, on_long: fail }\n"
    "  other: { type: write_tfds, input: long, name: toy, out: \"${out}\" }\n";

/// Puts a line at the end of the second file that is longer than a record may be.
void MakeLong(const ToyPlace& place) { Append(place.path("corpus-1.txt"), std::string(3000, 'x') + "\n\n"); }

TEST(SourceChangeTest, WhatASourceMadeBeforeItFailedStands) {
  ToyPlace place;
  MakeLong(place);
  const ToyOutcome first = place.Run(kLong, {}, kAllFailures);
  ASSERT_EQ(first.failures.size(), 1u);
  EXPECT_NE(first.failures[0].find("longer than max_record_bytes"), std::string::npos) << first.failures[0];
  EXPECT_GT(first.Count("done other/0001-"), 1);
  EXPECT_EQ(first.Count("void"), 0);
  const ToyOutcome again = place.Run(kLong, {}, kAllFailures);
  EXPECT_EQ(again.failures, first.failures);
  EXPECT_EQ(again.Count("done other/"), 0) << "what stands is not made again";
  EXPECT_EQ(again.Count("void"), 0);
}

TEST(SourceChangeTest, AFailureHidesNoChange) {
  ToyPlace place;
  MakeLong(place);
  AtPartition changes(
      {1, 1}, [&] { Append(place.path("corpus-1.txt"), "one more\n"); }, "long");
  place.watch = &changes;
  const ToyOutcome outcome = place.Run(kLong, {}, kAllFailures);
  // One, or two where the other line was still reading it.
  ASSERT_FALSE(outcome.failures.empty());
  for (const std::string& failure : outcome.failures)
    EXPECT_NE(failure.find("was changed since this run began"), std::string::npos) << failure;
  EXPECT_GT(outcome.Count("done other/0001-"), 1);
  EXPECT_EQ(outcome.Count("void other/"), outcome.Count("done other/0001-"));
}

const std::string kRead =
    "  long: { type: decompress, input: source, partition: 120, max_record_bytes: 1KiB, on_long: fail }\n"
    "  cut: { type: split, input: long, splits: { train: rest } }\n"
    "  text: { type: write_tfds, input: cut, name: toy, out: \"${out}\" }\n"
    "  more: { type: write_tfds, input: cut, name: more, out: \"${out}\" }\n";

TEST(SourceChangeTest, AReaderThatStillRunsLeavesNothingOfADamagedSource) {
  ToyPlace place;
  MakeLong(place);
  std::atomic<bool> running = false;  // a unit that reads a partition of the damaged source
  AtPartition reads(
      {1, 0},
      [&] {
        running = true;
        WaitUntil([&] { return place.Logged("void"); });  // the outputs of the source
      },
      "cut");
  place.watch = &reads;
  place.adjust = [&](Environment& environment) {
    environment.drop_damaged = [&](const std::string&, const Status&,
                                   const std::function<void()>& before) -> Status {
      WaitUntil([&] { return running.load(); });
      before();
      return {};
    };
  };
  const ToyOutcome outcome = place.Run(kRead, {}, kAllFailures);
  EXPECT_TRUE(running) << "the test is about such a unit";
  EXPECT_NE(outcome.code, Code::kOk);
  for (const std::string stage : {"cut", "text", "more"})
    EXPECT_EQ(outcome.Count("void " + stage + "/0001-"), outcome.Count("done " + stage + "/0001-")) << stage;
}

const std::string kSaid =
    "  said: { type: exec, input: docs, command: [cat] }\n"
    "  text: { type: write_tfds, input: said, name: toy, out: \"${out}\" }\n"
    "  model: { type: learn, input: docs }\n"
    "  more: { type: shelve, input: said, model: model, name: more, out: \"${out}\" }\n";

/// Calls `then` once, at the end of a partition of `text`.
class AtEndOfText final : public RecordObserver {
 public:
  explicit AtEndOfText(std::function<void()> then) : then_(std::move(then)) {}
  std::unique_ptr<BatchProbe> Watch(const Batch& batch, const std::vector<std::string>& stages) override {
    if (batch.partition == PartitionId{1, 0} && batch.closes && stages.back() == "text")
      std::call_once(once_, then_);
    return nullptr;
  }

 private:
  const std::function<void()> then_;
  std::once_flag once_;
};

TEST(SourceChangeTest, AReaderThatStillRunsReadsAPartitionAgainThatIsMadeAgainAndMayDiffer) {
  ToyPlace place;
  std::atomic<bool> spoilt = false;
  AtEndOfText spoils([&] {
    const std::string path = place.PartitionOutput("said", "0001-00000.part");
    std::string bytes = ReadFile(path);
    bytes[bytes.size() / 2] ^= 1;
    WriteFile(path, bytes);
    spoilt = true;
    WaitUntil([&] { return place.Logged("void"); });  // `more` reads the same partition
  });
  place.watch = &spoils;
  place.hand.in_learn = [&](const JobRequest&) -> Status {  // `more` begins after this
    WaitUntil([&] { return spoilt.load(); });
    return {};
  };
  const ToyOutcome outcome = place.Ok(kSaid);
  EXPECT_TRUE(spoilt);
  for (const std::string unit : {"said/0001-00000", "text/0001-00000"}) {
    EXPECT_EQ(outcome.Count("void " + unit), 1) << unit;
    EXPECT_GE(outcome.Count("done " + unit), 1) << unit;
  }
}

}  // namespace
}  // namespace pipeline
