#include "stages/shards/spill_merger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/support/map_store.h"

namespace pipeline {
namespace {

struct Row {
  std::uint64_t hash = 0;
  std::uint32_t part = 0;
  std::uint64_t index = 0;
  std::string payload;
  auto operator<=>(const Row&) const = default;
};

/// Spills of one split, written by hand, so that hashes can be what a test needs.
struct Spills {
  MapStore store;
  SpilledSplit split;
  std::vector<std::string> order;  // the payloads
};

void Fill(std::vector<Row> rows, std::uint32_t parts, Spills& spills) {
  std::sort(rows.begin(), rows.end());
  std::vector<std::uint64_t> records(kSpillBins), bytes(kSpillBins);
  for (const Row& row : rows) {
    spills.order.push_back(row.payload);
    ++records[SpillBinOf(row.hash)];
    bytes[SpillBinOf(row.hash)] += row.payload.size() + 12;
  }
  std::uint64_t position = 0;
  for (std::uint32_t bin = 0; bin < kSpillBins; ++bin) {
    spills.split.positions.push_back(position);
    position += records[bin];
  }
  spills.split.positions.push_back(position);
  spills.split.bytes = bytes;
  for (std::uint32_t part = 0; part < parts; ++part) {
    const std::string object = std::to_string(part);
    SpillFileWriter writer(0, part, {.frame_bytes = 300}, [&](std::string_view more) {
      spills.store[object] += more;
      return Status();
    });
    const auto ours = [part](const Row& row) { return row.part == part; };
    const auto count = static_cast<std::uint64_t>(std::count_if(rows.begin(), rows.end(), ours));
    if (count > 0) {
      ASSERT_TRUE(writer.BeginSplit(0, count).ok());
    }
    for (const Row& row : rows) {
      if (ours(row)) {
        ASSERT_TRUE(writer.Add({row.hash, row.index, 0, row.payload}).ok());
      }
    }
    ASSERT_TRUE(writer.Finish().ok());
    Result<SpillIndex> index = ReadSpillIndex(StringFile(spills.store[object]), {});
    ASSERT_TRUE(index.ok());
    if (count > 0) spills.split.parts.push_back({object, false, index->splits[0].frames});
  }
}

/// The payloads at [begin, end) of each range, in one go.
std::vector<std::string> CopyAll(Spills& spills, std::uint64_t memory,
                                 const std::vector<std::pair<std::uint64_t, std::uint64_t>>& ranges,
                                 std::uint64_t until) {
  MergeCounters counters;
  SpillMerger merger(spills.store, spills.split, memory, counters, {});
  std::vector<std::string> payloads;
  for (const auto& [begin, end] : ranges) {
    const Status status = merger.Copy(begin, end, std::max(end, until), [&](std::string_view payload) {
      payloads.emplace_back(payload);
      return Status();
    });
    EXPECT_TRUE(status.ok()) << status.message();
  }
  return payloads;
}

std::vector<Row> RandomRows(std::size_t count, std::uint32_t parts,
                            const std::vector<std::uint64_t>& hashes) {
  std::mt19937_64 random(1);
  std::vector<Row> rows;
  for (std::uint64_t i = 0; i < count; ++i)
    rows.push_back({hashes[random() % hashes.size()], static_cast<std::uint32_t>(random() % parts), i,
                    std::to_string(i) + std::string(random() % 40, '.')});
  return rows;
}

constexpr std::uint64_t kMemories[] = {0, 100, 500, 2000, 5000, 20'000, 1 << 20};

TEST(SpillMergerTest, EqualHashesComeByOriginAcrossFramesAndWindows) {
  const std::vector<std::uint64_t> hashes = {
      0, 1, 2, 3, 1ull << 20, (1ull << 52) - 1, 1ull << 52, UINT64_MAX - 1, UINT64_MAX};
  Spills spills;
  Fill(RandomRows(600, 3, hashes), 3, spills);
  for (const std::uint64_t memory : kMemories)
    EXPECT_EQ(CopyAll(spills, memory, {{0, 600}}, 600), spills.order) << memory;
}

TEST(SpillMergerTest, AllInOneNarrowRange) {
  std::vector<std::uint64_t> hashes;
  for (std::uint64_t i = 0; i < 300; ++i) hashes.push_back((77ull << 52) + 123456789 + i * i);
  Spills spills;
  Fill(RandomRows(600, 4, hashes), 4, spills);
  for (const std::uint64_t memory : kMemories)
    EXPECT_EQ(CopyAll(spills, memory, {{0, 600}}, 600), spills.order) << memory;
}

TEST(SpillMergerTest, RangesMaySkipAndNeedNotKnowHowFarTheyGo) {
  std::mt19937_64 random(2);
  std::vector<std::uint64_t> hashes;
  for (int i = 0; i < 400; ++i) hashes.push_back(random() >> (random() % 12));  // crowded at the front
  Spills spills;
  Fill(RandomRows(800, 3, hashes), 3, spills);
  const std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges = {
      {3, 3}, {3, 10}, {10, 11}, {50, 300}, {300, 301}, {550, 552}, {790, 800}};
  std::vector<std::string> wanted;
  for (const auto& [begin, end] : ranges)
    for (std::uint64_t i = begin; i < end; ++i) wanted.push_back(spills.order[i]);
  for (const std::uint64_t memory : kMemories)
    for (const std::uint64_t until : {0u, 800u})
      EXPECT_EQ(CopyAll(spills, memory, ranges, until), wanted) << memory << ", until " << until;
}

TEST(SpillMergerTest, BinsThatPromiseOtherRowsAreABugThatIsSaid) {
  Spills spills;
  Fill(RandomRows(50, 2, {5, 6, 1ull << 60}), 2, spills);
  ++spills.split.positions.back();
  MergeCounters counters;
  SpillMerger merger(spills.store, spills.split, 1 << 20, counters, {});
  const Status status = merger.Copy(0, 51, 51, [](std::string_view) { return Status(); });
  EXPECT_EQ(status.code(), Code::kInternal);
}

}  // namespace
}  // namespace pipeline
