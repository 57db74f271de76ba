#include "stages/shards/made_rows.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pipeline {
namespace {

/// What a Sink was given, which outlives it.
struct Given {
  std::vector<std::size_t> batches;  // rows of each
  std::vector<RecordHead> heads;
  std::vector<std::uint8_t> splits;
  std::string payloads;
  std::optional<PartitionEnd> end;
};

class GivenSink final : public Sink {
 public:
  GivenSink(Given& given, Status answer) : given_(given), answer_(std::move(answer)) {}
  Status Write(const Batch& batch) override {
    given_.batches.push_back(batch.size());
    given_.heads.insert(given_.heads.end(), batch.heads.begin(), batch.heads.end());
    given_.splits.insert(given_.splits.end(), batch.split.begin(), batch.split.end());
    given_.payloads += batch.payload.joined();
    return answer_;
  }
  Result<CommittedPartition> Commit(const PartitionEnd& end, std::stop_token) override {
    given_.end = end;
    return CommittedPartition{};
  }

 private:
  Given& given_;
  const Status answer_;
};

MadeRows RowsInto(Given& given, Status answer = {}) {
  return MadeRows(std::make_unique<GivenSink>(given, std::move(answer)));
}

TEST(MadeRowsTest, HandsOnWhatHasComeTogetherAndTheRestInTheEnd) {
  Given given;
  MadeRows rows = RowsInto(given);
  const std::string quarter(kMadeRowsBytes / 4, 'x');
  for (std::uint64_t index = 0; index < 6; ++index) {
    rows.open_row() += quarter;
    ASSERT_TRUE(rows.Close({index, 0, index / 2, 7}, static_cast<std::uint8_t>(index % 3)).ok());
    EXPECT_EQ(given.batches.size(), index < 3 ? 0 : 1) << index;
  }
  ASSERT_TRUE(rows.Commit({.raw_end = 100, .document_end = 3}, {}).ok());
  EXPECT_EQ(given.batches, (std::vector<std::size_t>{4, 2}));
  EXPECT_EQ(given.splits, (std::vector<std::uint8_t>{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(given.payloads.size(), 6 * quarter.size());
  for (std::uint64_t index = 0; index < 6; ++index) {
    EXPECT_EQ(given.heads[index].index, index);
    EXPECT_EQ(given.heads[index].document, index / 2);
  }
  ASSERT_TRUE(given.end.has_value());
  EXPECT_EQ(given.end->raw_end, 100);
}

TEST(MadeRowsTest, WithoutARowThereIsNoBatch) {
  Given given;
  ASSERT_TRUE(RowsInto(given).Commit({}, {}).ok());
  EXPECT_TRUE(given.batches.empty());
  EXPECT_TRUE(given.end.has_value());
}

TEST(MadeRowsTest, ASinkThatFailsEndsTheRowsAndTheirCommit) {
  const Status full(Code::kUnavailable, "no space");
  Given given;
  MadeRows rows = RowsInto(given, full);
  rows.open_row().append(kMadeRowsBytes, 'x');
  EXPECT_EQ(rows.Close({}, 0).code(), Code::kUnavailable);

  Given other;
  MadeRows few = RowsInto(other, full);
  few.open_row() += "x";
  ASSERT_TRUE(few.Close({}, 0).ok());
  EXPECT_EQ(few.Commit({}, {}).status().code(), Code::kUnavailable);
  EXPECT_FALSE(other.end.has_value()) << "a partition without all of its rows must not exist";
}

}  // namespace
}  // namespace pipeline
