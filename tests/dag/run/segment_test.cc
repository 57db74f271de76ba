#include "dag/run/segment.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include "base/digest.h"
#include "base/str.h"

namespace pipeline {
namespace {

/// Records "r0", "r1", ... in partitions of `per_partition`, in batches of `per_batch`.
class NumberSource final : public Source {
 public:
  struct Shape {
    std::uint64_t records = 1000;
    std::uint64_t per_partition = 300;
    std::uint64_t per_batch = 7;
    std::uint64_t fails_at = UINT64_MAX;  // a record that cannot be read
    bool decodes_on_one_thread = false;
    std::uint64_t long_from = 0;  // records from here to long_until have long_bytes more
    std::uint64_t long_until = 0;
    std::size_t long_bytes = 0;
  };
  explicit NumberSource(Shape shape) : shape_(shape) {}

  Result<bool> Next(Batch& batch) override {
    ++batches;
    if (next_ >= shape_.records) return false;
    batch.partition = {0, static_cast<std::uint32_t>(next_ / shape_.per_partition)};
    const std::uint64_t border =
        std::min((batch.partition.partition + 1) * shape_.per_partition, shape_.records);
    for (std::uint64_t i = 0; i < shape_.per_batch && next_ < border; ++i, ++next_) {
      if (next_ == shape_.fails_at) return Status(Code::kDataLoss, StrCat("record ", next_, " is damaged"));
      batch.heads.push_back({next_ % shape_.per_partition, 0, next_ / 10, 0});
      const bool is_long = next_ >= shape_.long_from && next_ < shape_.long_until;
      batch.text.Append(StrCat("r", next_, std::string(is_long ? shape_.long_bytes : 0, '.')));
    }
    if (next_ == border) batch.closes = true, batch.end = {next_, next_ / 10};
    return true;
  }
  std::optional<InputEnd> End() const override { return InputEnd{}; }
  bool decodes_on_one_thread() const override { return shape_.decodes_on_one_thread; }

  std::atomic<std::uint64_t> batches{0};

 private:
  const Shape shape_;
  std::uint64_t next_ = 0;
};

/// Appends "!" to every record; fails or throws where told to, and takes its time by the record.
class Shout final : public Transform {
 public:
  std::vector<std::string> fails;
  std::string throws;
  std::string drops;
  mutable std::atomic<int> nice{-100};  // of the thread that shouted last

  Result<std::unique_ptr<Worker>> NewWorker() const override {
    return std::unique_ptr<Worker>(std::make_unique<ShoutWorker>(*this));
  }

 private:
  class ShoutWorker final : public Worker {
   public:
    explicit ShoutWorker(const Shout& shout) : shout_(shout) {}
    Status Apply(Batch& batch, std::uint32_t stage, StageCounts& counts) override {
      shout_.nice = getpriority(PRIO_PROCESS, 0);
      BytesColumn louder;
      std::vector<RecordHead> kept;
      for (std::size_t row = 0; row < batch.size(); ++row) {
        const std::string text(batch.text[row]);
        if (text == shout_.throws) throw std::runtime_error("boom");
        if (std::find(shout_.fails.begin(), shout_.fails.end(), text) != shout_.fails.end()) {
          batch.failed_index = batch.heads[row].index;
          return Status(Code::kDataLoss, text + " is bad");
        }
        if (text == shout_.drops) {
          counts.Add("dropped_quiet");
          batch.quarantine.push_back({stage, batch.heads[row].index, 0, "dropped_quiet", text});
          continue;
        }
        kept.push_back(batch.heads[row]);
        louder.Append(text + "!");
      }
      batch.heads.swap(kept);
      batch.text.Swap(louder);
      return {};
    }

   private:
    const Shout& shout_;
  };
};

/// Remembers everything in order, as text.
class Memory final : public SegmentOutput {
 public:
  Result<std::unique_ptr<Sink>> Open(PartitionId id) override {
    opened.push_back(id.partition);
    return std::unique_ptr<Sink>(std::make_unique<MemorySink>(*this));
  }
  Status Keep(PartitionId, const std::vector<Quarantined>& records) override {
    for (const Quarantined& record : records)
      quarantine += StrCat(record.index, ":", record.reason, ":", record.bytes, " ");
    return {};
  }
  Status Commit(ClosedPartition partition) override {
    std::string line = StrCat("p", partition.id.partition);
    if (!partition.failure.ok()) {
      line += StrCat(" failed at ", partition.failed_index.value_or(99), ": ", partition.failure.message());
    } else {
      const Result<CommittedPartition> output = partition.sink->Commit(partition.end);
      if (!output.ok()) return output.status();
      line += StrCat(" ", partition.records, " records, ", partition.splits["train"].documents,
                     " documents, in ", partition.counts.back().records_in, ", out ",
                     partition.counts.back().records_out, ", ", output->digest.ToHex());
    }
    lines.push_back(line);
    if (static_cast<int>(lines.size()) == fail_after)
      return Status(Code::kInternal, "the log cannot be written");
    return {};
  }

  std::vector<std::uint32_t> opened;
  std::vector<std::string> lines;
  std::string quarantine;
  int fail_after = -1;
  std::function<void()> on_write;

 private:
  class MemorySink final : public Sink {
   public:
    explicit MemorySink(Memory& memory) : memory_(memory) {}
    Status Write(const Batch& batch) override {
      if (memory_.on_write) memory_.on_write();
      for (std::size_t row = 0; row < batch.size(); ++row) hasher_.UpdateField(batch.text[row]);
      return {};
    }
    Result<CommittedPartition> Commit(const PartitionEnd&, std::stop_token) override {
      return CommittedPartition{hasher_.Finish(), {}};
    }

   private:
    Memory& memory_;
    Hasher hasher_;
  };
};

struct Outcome {
  Status status;
  std::vector<std::string> lines;
  std::string quarantine;
};

/// 0 threads: as a small input, on the calling thread.
Outcome RunOnce(NumberSource::Shape shape, const Shout& shout, int threads, std::size_t tokens,
                std::uint64_t text_bytes = UINT64_MAX) {
  Arena arena(std::max(threads, 1));
  NumberSource source(shape);
  Memory memory;
  SegmentSpec spec;
  spec.transforms = {{&shout, 1}};
  spec.stages = 2;
  spec.splits = {"train"};
  spec.tokens = tokens;
  spec.text_bytes = text_bytes;
  SegmentProgress progress(2);
  SegmentScratch scratch;
  Outcome outcome;
  outcome.status = threads == 0 ? RunSmallSegment(source, spec, memory, progress, scratch, {})
                                : RunSegment(arena, source, spec, memory, progress, {});
  outcome.lines = memory.lines;
  outcome.quarantine = memory.quarantine;
  return outcome;
}

TEST(SegmentTest, SameLinesForAnyThreadsTokensAndBatchSizes) {
  Shout shout;
  shout.drops = "r310";
  const Outcome reference = RunOnce({}, shout, 1, 1);
  ASSERT_TRUE(reference.status.ok()) << reference.status.message();
  ASSERT_EQ(reference.lines.size(), 4u);
  EXPECT_EQ(reference.quarantine, "10:dropped_quiet:r310 ");
  EXPECT_NE(reference.lines[1].find("299 records, 30 documents, in 300, out 299"), std::string::npos)
      << reference.lines[1];
  for (const int threads : {0, 1, 2, 7})
    for (const std::size_t tokens : {1u, 3u, 64u})
      for (const std::uint64_t per_batch : {1u, 7u, 100000u}) {
        const Outcome other = RunOnce({.per_batch = per_batch}, shout, threads, tokens);
        EXPECT_EQ(other.lines, reference.lines)
            << threads << " threads, " << tokens << " tokens, batches of " << per_batch;
        EXPECT_EQ(other.quarantine, reference.quarantine);
      }
}

TEST(SegmentTest, SameLinesIfLongRecordsLeaveRoomForFewBatchesOrOne) {
  Shout shout;
  shout.drops = "r310";
  const NumberSource::Shape shape{.per_batch = 1, .long_from = 250, .long_until = 400, .long_bytes = 1000};
  const Outcome reference = RunOnce(shape, shout, 0, 1);
  ASSERT_TRUE(reference.status.ok()) << reference.status.message();
  for (const int threads : {1, 4})
    for (const std::size_t tokens : {1u, 8u})
      for (const std::uint64_t text_bytes : {0u, 1u, 30u, 1500u, 2500u, 5000u}) {
        const Outcome other = RunOnce(shape, shout, threads, tokens, text_bytes);
        EXPECT_EQ(other.lines, reference.lines)
            << threads << " threads, " << tokens << " tokens, " << text_bytes << " bytes";
        EXPECT_EQ(other.quarantine, reference.quarantine);
      }
}

TEST(SegmentTest, AFailureAmongLongRecordsEndsAsAmongShortOnes) {
  const Shout shout;
  const NumberSource::Shape shape{
      .per_batch = 1, .fails_at = 750, .long_from = 700, .long_until = 800, .long_bytes = 1000};
  const Outcome outcome = RunOnce(shape, shout, 4, 8, 1000);
  EXPECT_EQ(outcome.status.message(), "record 750 is damaged");
  EXPECT_EQ(outcome.lines.size(), 2u);
}

TEST(SegmentTest, TheLowestFailingRecordIsReportedWhateverTheTiming) {
  Shout shout;
  shout.fails = {"r420", "r333", "r599", "r334"};
  for (int round = 0; round < 40; ++round) {
    const Outcome outcome =
        RunOnce({.per_batch = 1 + static_cast<std::uint64_t>(round % 5)}, shout, round % 8 == 0 ? 0 : 4, 16);
    ASSERT_TRUE(outcome.status.ok());
    ASSERT_EQ(outcome.lines.size(), 4u);
    EXPECT_EQ(outcome.lines[1], "p1 failed at 33: r333 is bad");
  }
}

TEST(SegmentTest, APartitionAfterAFailedOneIsWhole) {
  Shout good;
  Shout bad;
  bad.fails = {"r333"};
  const Outcome reference = RunOnce({}, good, 2, 8);
  const Outcome outcome = RunOnce({}, bad, 2, 8);
  EXPECT_EQ(outcome.lines[0], reference.lines[0]);
  EXPECT_EQ(outcome.lines[2], reference.lines[2]);
  EXPECT_EQ(outcome.lines[3], reference.lines[3]);
}

TEST(SegmentTest, WhatClosedBeforeASourceFailureIsCommittedAndTheOpenPartitionVanishes) {
  const Shout shout;
  for (const int threads : {1, 4}) {
    const Outcome outcome = RunOnce({.fails_at = 750}, shout, threads, 16);
    EXPECT_EQ(outcome.status.code(), Code::kDataLoss);
    EXPECT_EQ(outcome.status.message(), "record 750 is damaged");
    EXPECT_EQ(outcome.lines.size(), 2u);
  }
}

TEST(SegmentTest, AThrowingStageFailsItsPartitionOnly) {
  Shout shout;
  shout.throws = "r5";
  const Outcome outcome = RunOnce({}, shout, 2, 8);
  ASSERT_TRUE(outcome.status.ok());
  ASSERT_EQ(outcome.lines.size(), 4u);
  EXPECT_NE(outcome.lines[0].find("a stage threw: boom"), std::string::npos) << outcome.lines[0];
}

TEST(SegmentTest, ProcessingHasALowerPriorityThanADecoderThatIsOneThread) {
  const int program = getpriority(PRIO_PROCESS, 0);
  for (const bool one_thread : {false, true}) {
    Shout shout;
    // A thread of its own, and no other in the arena, because a priority may not rise again.
    std::thread([&] { RunOnce({.decodes_on_one_thread = one_thread}, shout, 1, 2); }).join();
    EXPECT_EQ(shout.nice, one_thread ? std::min(program + 5, 19) : program);
  }
}

TEST(SegmentTest, ABlockedSinkHoldsTheSourceBackAtTheNumberOfTokens) {
  constexpr std::size_t kTokens = 5;
  Arena arena(4);
  NumberSource source({.records = 1000, .per_partition = 1000, .per_batch = 1});
  Memory memory;
  std::atomic<std::uint64_t> written{0};
  std::uint64_t most_ahead = 0;
  memory.on_write = [&] {
    ++written;
    for (int spin = 0; spin < 50; ++spin) std::this_thread::yield();  // lets the source run ahead if it could
    most_ahead = std::max(most_ahead, source.batches.load() - written.load());
  };
  SegmentSpec spec;
  spec.stages = 1;
  spec.splits = {"train"};
  spec.tokens = kTokens;
  SegmentProgress progress(1);
  const Status status = RunSegment(arena, source, spec, memory, progress, {});
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(written.load(), 1000u);
  EXPECT_LE(most_ahead, kTokens);
}

TEST(SegmentTest, LongRecordsAreAliveInFewerBatchesAndShortOnesBehindThemInAllAgain) {
  constexpr std::uint64_t kLongFrom = 300, kLongUntil = 600;
  for (const std::uint64_t together : {1u, 2u}) {
    Arena arena(4);
    NumberSource source({.per_partition = 1000,
                         .per_batch = 1,
                         .long_from = kLongFrom,
                         .long_until = kLongUntil,
                         .long_bytes = 1000});
    Memory memory;
    std::atomic<std::uint64_t> written{0};
    std::uint64_t most_long = 0;
    std::uint64_t most_behind = 0;
    memory.on_write = [&] {
      const std::uint64_t now = written++;
      for (int spin = 0; spin < 50; ++spin) std::this_thread::yield();
      const std::uint64_t alive = source.batches.load() - now;  // with one that is read and held
      if (now >= kLongFrom && now < kLongUntil) most_long = std::max(most_long, alive);
      if (now >= kLongUntil + 100) most_behind = std::max(most_behind, alive);
    };
    SegmentSpec spec;
    spec.splits = {"train"};
    spec.tokens = 8;
    spec.text_bytes = together * 1010;
    SegmentProgress progress(1);
    ASSERT_TRUE(RunSegment(arena, source, spec, memory, progress, {}).ok());
    EXPECT_EQ(written.load(), 1000u);
    EXPECT_LE(most_long, together == 1 ? 1 : together + 1);
    EXPECT_GT(most_behind, together + 1);
  }
}

TEST(SegmentTest, UnitsOfOneArenaRunTheirLongRecordsOneAtATime) {
  Arena arena(4);
  std::atomic<int> writing{0};
  std::atomic<bool> together{false};
  const auto run = [&] {
    NumberSource source({.records = 200, .per_batch = 1, .long_until = 200, .long_bytes = 1000});
    Memory memory;
    memory.on_write = [&] {
      if (++writing > 1) together = true;
      for (int spin = 0; spin < 50; ++spin) std::this_thread::yield();
      --writing;
    };
    SegmentSpec spec;
    spec.splits = {"train"};
    spec.tokens = 4;
    spec.text_bytes = 1;
    SegmentProgress progress(1);
    EXPECT_TRUE(RunSegment(arena, source, spec, memory, progress, {}).ok());
    EXPECT_EQ(memory.lines.size(), 1u);
  };
  std::thread other(run);
  run();
  other.join();
  EXPECT_FALSE(together.load());
}

TEST(SegmentTest, AStopKeepsWhatClosedAndSaysCancelled) {
  Arena arena(2);
  NumberSource source({.records = 1'000'000'000});
  Memory memory;
  std::stop_source stop;
  std::uint64_t writes = 0;
  memory.on_write = [&] {
    if (++writes == 200) stop.request_stop();
  };
  SegmentSpec spec;
  spec.stages = 2;
  spec.splits = {"train"};
  const Shout shout;
  spec.transforms = {{&shout, 1}};
  SegmentProgress progress(2);
  const Status status = RunSegment(arena, source, spec, memory, progress, stop.get_token());
  EXPECT_EQ(status.code(), Code::kCancelled);
  EXPECT_GE(memory.lines.size(), 4u);
  EXPECT_LT(memory.opened.size(), 20u);
  EXPECT_GE(memory.opened.size(), memory.lines.size());
}

TEST(SegmentTest, AFailureToLogEndsTheSegment) {
  Arena arena(2);
  NumberSource source({.records = 100'000});
  Memory memory;
  memory.fail_after = 2;
  SegmentSpec spec;
  spec.stages = 1;
  spec.splits = {"train"};
  SegmentProgress progress(1);
  const Status status = RunSegment(arena, source, spec, memory, progress, {});
  EXPECT_EQ(status.message(), "the log cannot be written");
  EXPECT_EQ(memory.lines.size(), 2u);
}

/// Writes down what each stage left of every batch.
class Notebook final : public RecordObserver {
 public:
  std::unique_ptr<BatchProbe> Watch(const Batch& batch, const std::vector<std::string>& stages) override {
    if (batch.partition.partition == 1) return nullptr;  // of no interest
    return std::make_unique<Looking>(*this, stages);
  }
  std::multiset<std::string> seen;  // guarded by mutex_

 private:
  class Looking final : public BatchProbe {
   public:
    Looking(Notebook& notebook, const std::vector<std::string>& stages)
        : notebook_(notebook), stages_(stages) {}
    void Left(std::uint32_t stage, const Batch& batch) override {
      const std::scoped_lock lock(notebook_.mutex_);
      notebook_.seen.insert(StrCat(stages_[stage], ":", batch.text.joined()));
    }

   private:
    Notebook& notebook_;
    const std::vector<std::string>& stages_;
  };
  std::mutex mutex_;
};

TEST(SegmentTest, WatchSeesEachStageOnceAndChangesNothing) {
  Shout first, second, encoder;
  Notebook notebook;
  const auto run = [&](RecordObserver* watch) {
    NumberSource source({.records = 6, .per_partition = 2, .per_batch = 2});
    Memory memory;
    SegmentSpec spec;
    spec.transforms = {{&first, 0}, {&second, 1}, {&encoder, 1, false}};
    spec.stages = 2;
    spec.splits = {"train"};
    spec.watch = watch;
    spec.names = {"source", "shout"};
    SegmentProgress progress(2);
    Arena arena(2);
    EXPECT_TRUE(RunSegment(arena, source, spec, memory, progress, {}).ok());
    return memory.lines;
  };
  const std::vector<std::string> unwatched = run(nullptr);
  EXPECT_EQ(run(&notebook), unwatched);
  EXPECT_EQ(notebook.seen, (std::multiset<std::string>{"source:r0!r1!", "shout:r0!!!r1!!!", "source:r4!r5!",
                                                       "shout:r4!!!r5!!!"}));
}

}  // namespace
}  // namespace pipeline
