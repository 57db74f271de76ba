#include "plugins/train/rows/fetch_planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "tests/plugins/train/rows/packed_rows.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

constexpr std::uint64_t kSeed = 7;

/// A disk and a store whose blocks arrive when the test says so.
class FetchPlannerTest : public testing::Test {
 protected:
  /// 70 blocks, the last one short: 5 windows an epoch.
  explicit FetchPlannerTest(std::uint64_t rows = 69 * 1024 + 100)
      : rows_(rows), blocks_(PackedRows({rows / 2, rows - rows / 2}).Blocks(root_.path().string())) {}

  FetchPlanner Planner(std::uint64_t room) { return FetchPlanner(blocks_, kSeed, room); }
  /// The blocks of the samples [first, first + count), from the rows themselves.
  std::set<std::uint64_t> BlocksOf(std::uint64_t first, std::uint64_t count) const {
    pipe_sample_order order;
    pipe_sample_order_start(&order, rows_, kSeed);
    std::set<std::uint64_t> found;
    for (std::uint64_t sample = first; sample < first + count; ++sample)
      found.insert(pipe_sample_order_row(&order, sample) / kPipeBlockRows);
    return found;
  }
  std::uint64_t EndOfWindow(std::uint64_t sample) const {
    pipe_sample_order order;
    pipe_sample_order_start(&order, rows_, kSeed);
    std::uint64_t blocks[kPipeWindowBlocks], end = 0;
    pipe_sample_order_window(&order, sample, blocks, &end);
    return end;
  }
  /// As RowSupply does: removes, and lets up to `most` blocks arrive.
  void Fetch(FetchPlanner& planner, int most = 1000) {
    for (const std::uint64_t block : planner.TakeUnwanted()) here_.erase(block);
    while (most-- > 0) {
      const auto block = planner.StartNext();
      if (!block) return;
      ++fetched_;
      if (planner.Arrived(*block)) here_.insert(*block);
    }
  }
  bool Here(const std::set<std::uint64_t>& wanted) const {
    return std::includes(here_.begin(), here_.end(), wanted.begin(), wanted.end());
  }

  TempDir root_;
  const std::uint64_t rows_;
  const RowBlocks blocks_;
  std::set<std::uint64_t> here_;
  int fetched_ = 0;
};

TEST_F(FetchPlannerTest, EachWindowIsHereWhileItIsReadAndTheDiskIsBounded) {
  for (const std::uint64_t room :
       {18 * PackedRows::kBlockBytes, 32 * PackedRows::kBlockBytes + 5, 50 * PackedRows::kBlockBytes}) {
    FetchPlanner planner = Planner(room);
    here_.clear();
    fetched_ = 0;
    std::uint64_t sample = 5000;  // a run that goes on
    for (int window = 0; window < 14; ++window, sample = EndOfWindow(sample)) {
      planner.Want(0, {.shuffled = true, .sample = sample});
      Fetch(planner);
      EXPECT_TRUE(Here(BlocksOf(sample, EndOfWindow(sample) - sample))) << sample;
      EXPECT_LE(planner.held(), room);
      std::uint64_t held = 0;
      for (const std::uint64_t block : here_) held += blocks_.BytesOf(block);
      EXPECT_EQ(planner.held(), held);
    }
    EXPECT_LE(fetched_, 14 * 16 + 50) << "no block is fetched twice for one window";
  }
}

TEST_F(FetchPlannerTest, TheNextWindowArrivesWhileOneIsRead) {
  FetchPlanner planner = Planner(32 * PackedRows::kBlockBytes);
  planner.Want(0, {.shuffled = true, .sample = 0});
  Fetch(planner);
  const std::uint64_t next = EndOfWindow(0);
  EXPECT_TRUE(Here(BlocksOf(next, EndOfWindow(next) - next)));
  const int before = fetched_;
  planner.Want(0, {.shuffled = true, .sample = next});
  EXPECT_TRUE(Here(BlocksOf(next, 100)));
  Fetch(planner);
  EXPECT_EQ(fetched_, before + 16);
}

TEST_F(FetchPlannerTest, BlocksThatTheNextEpochNeedsSoonStay) {
  FetchPlanner planner = Planner(60 * PackedRows::kBlockBytes);
  std::uint64_t sample = 0;
  for (; sample < 3 * rows_; sample = EndOfWindow(sample)) {
    planner.Want(0, {.shuffled = true, .sample = sample});
    Fetch(planner);
  }
  EXPECT_LT(fetched_, 3 * 70 - 60) << "the disk holds most of them";
}

TEST_F(FetchPlannerTest, RowsInTheOrderOfTheShardsComeFirst) {
  FetchPlanner planner = Planner(18 * PackedRows::kBlockBytes);
  planner.Want(1, {.shuffled = true, .sample = 0});  // waits for worker 0
  for (std::uint64_t block = 0; block < blocks_.count(); ++block) {
    planner.Want(0, {.shuffled = false, .sample = block * kPipeBlockRows});
    Fetch(planner);
    EXPECT_TRUE(here_.contains(block));
    EXPECT_TRUE(Here(BlocksOf(0, 2000)));
    EXPECT_LE(planner.held(), 18 * PackedRows::kBlockBytes);
  }
  planner.Want(0, {.shuffled = true, .sample = 0});
  Fetch(planner);
  EXPECT_TRUE(Here(BlocksOf(0, EndOfWindow(0))));
}

TEST_F(FetchPlannerTest, NothingIsRemovedBeforeAWorkerSaysWhereItIs) {
  FetchPlanner planner = Planner(40 * PackedRows::kBlockBytes);
  for (std::uint64_t block = 0; block < 30; ++block) EXPECT_TRUE(planner.Found(block));
  EXPECT_TRUE(planner.TakeUnwanted().empty());
  EXPECT_FALSE(planner.StartNext());
  EXPECT_EQ(planner.held(), 30 * PackedRows::kBlockBytes);
  for (std::uint64_t block = 30; block < 40; ++block) EXPECT_TRUE(planner.Found(block));
  EXPECT_FALSE(planner.Found(40)) << "there is no room";
}

TEST_F(FetchPlannerTest, AFailedBlockIsFetchedAgain) {
  FetchPlanner planner = Planner(40 * PackedRows::kBlockBytes);
  planner.Want(0, {.shuffled = true, .sample = 0});
  const auto block = planner.StartNext();
  planner.Failed(*block);
  EXPECT_EQ(planner.held(), 0u);
  EXPECT_EQ(planner.StartNext(), block);
}

/// Workers that take steps together, and blocks that arrive late and in any order, some of which fail.
TEST_F(FetchPlannerTest, WorkersNeverWaitForEver) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    const std::uint64_t room = (18 + random() % 40) * PackedRows::kBlockBytes;
    FetchPlanner planner = Planner(room);
    const std::size_t workers = 1 + random() % 3;
    const std::uint64_t rows_of_step = 1000 + random() % 9000;  // of one worker
    std::uint64_t first = random() % (2 * rows_);
    std::vector<std::uint64_t> ends(workers, 0), arriving;  // of the windows
    std::vector<bool> has_read(workers, false);
    std::set<std::uint64_t> here;
    int steps = 0;
    for (int round = 0; round < 5000 && steps < 20; ++round) {
      const std::size_t worker = random() % workers;
      const std::uint64_t sample = first + worker * rows_of_step;
      if (!has_read[worker] && sample >= ends[worker]) {
        ends[worker] = EndOfWindow(sample);
        planner.Want(static_cast<std::int64_t>(worker), {.shuffled = true, .sample = sample});
      }
      for (const std::uint64_t block : planner.TakeUnwanted()) here.erase(block);
      if (const auto block = planner.StartNext()) arriving.push_back(*block);
      ASSERT_LE(planner.held(), room);
      if (!arriving.empty() && random() % 3 == 0) {
        const std::size_t one = random() % arriving.size();
        const std::uint64_t block = arriving[one];
        arriving.erase(arriving.begin() + static_cast<std::ptrdiff_t>(one));
        if (random() % 10 == 0)
          planner.Failed(block);
        else if (planner.Arrived(block))
          here.insert(block);
      }
      const std::set<std::uint64_t> wanted = BlocksOf(sample, 1);
      if (!has_read[worker] && std::includes(here.begin(), here.end(), wanted.begin(), wanted.end())) {
        has_read[worker] = true;
        ends[worker] = 0;
        planner.Want(static_cast<std::int64_t>(worker),
                     {.shuffled = true, .sample = sample + rows_of_step, .reading = false});
      }
      if (std::find(has_read.begin(), has_read.end(), false) != has_read.end()) continue;
      has_read.assign(workers, false);
      first += workers * rows_of_step;
      ++steps;
    }
    EXPECT_EQ(steps, 20) << "seed " << seed;
  }
}

}  // namespace
}  // namespace pipeline
