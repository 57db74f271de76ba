#include "dag/run/fault_share.h"

#include <gtest/gtest.h>

namespace pipeline {
namespace {

const std::vector<Reason> kReasons = {
    Drop("bad", "It is bad."),
    Drop("torn", "It is torn."),
    {"outside_subset", "It is not meant.", Reason::Of::kRecords, Reason::Fate::kNotMeant},
};

FaultBound Bound(double share = 0.01) { return {"max_bad_rows", "row", {"bad", "torn"}, share, true}; }

/// Counts of rows, of which `bad` are bad, and of `bytes`, of which `bad_bytes` are theirs.
StageCounts Counts(std::uint64_t rows, std::uint64_t bad, std::uint64_t bytes = 0,
                   std::uint64_t bad_bytes = 0) {
  StageCounts counts;
  counts.records_in = rows;
  counts.bytes_in = bytes;
  if (bad > 0) counts.Add("bad", bad);
  counts.AddSize("bad", {bad_bytes});
  return counts;
}

bool IsBroken(const StageCounts& counts, double share = 0.01) {
  const FaultBound bound = Bound(share);
  return FaultShare(bound, kReasons, counts).IsBroken();
}

TEST(FaultShareTest, HalfIsTooMuchAtAnyNumberUnlessTheKeyAllowsIt) {
  EXPECT_TRUE(IsBroken(Counts(18, 17)));
  EXPECT_TRUE(IsBroken(Counts(2, 1)));
  EXPECT_TRUE(IsBroken(Counts(1, 1)));
  EXPECT_FALSE(IsBroken(Counts(41, 20)));
  EXPECT_TRUE(IsBroken(Counts(18, 17), 0.9));
  EXPECT_FALSE(IsBroken(Counts(18, 17), 0.95));
  EXPECT_FALSE(IsBroken(Counts(18, 18), 1));
  EXPECT_FALSE(IsBroken(Counts(0, 0)));
}

TEST(FaultShareTest, MoreThanAFewAreBoundedByTheKey) {
  EXPECT_FALSE(IsBroken(Counts(60, 20)));
  EXPECT_TRUE(IsBroken(Counts(60, 21)));
  EXPECT_FALSE(IsBroken(Counts(4000, 40)));
  EXPECT_TRUE(IsBroken(Counts(4000, 41)));
  EXPECT_FALSE(IsBroken(Counts(60, 21), 0.35));
}

TEST(FaultShareTest, BytesCountBesideRows) {
  EXPECT_TRUE(IsBroken(Counts(1000, 1, 100'000, 50'000)));
  EXPECT_FALSE(IsBroken(Counts(1000, 1, 100'000, 49'900)));
  EXPECT_FALSE(IsBroken(Counts(1000, 1, 100'000, 50'000), 0.5));
  EXPECT_TRUE(IsBroken(Counts(4000, 30, 1'000'000, 11'000)));
  EXPECT_FALSE(IsBroken(Counts(4000, 30, 1'000'000, 10'000)));
  // Those outside of the subset are none.
  StageCounts subset = Counts(1000, 1, 100'000, 10'000);
  subset.Add("outside_subset", 900);
  subset.AddSize("outside_subset", {80'100});
  EXPECT_TRUE(IsBroken(subset));
  // A few short rows differ much in length.
  EXPECT_FALSE(IsBroken(Counts(5, 2, 194, 109)));
  // Earlier versions counted no bytes.
  EXPECT_FALSE(IsBroken(Counts(1000, 1, 1000)));
}

TEST(FaultShareTest, LinesThatAQuoteTookInCountEach) {
  StageCounts counts = Counts(101, 1, 7000, 30);
  counts.AddSize("bad", {0, 20});
  EXPECT_TRUE(IsBroken(counts));
  const FaultBound bound = Bound();
  EXPECT_EQ(FaultShare(bound, kReasons, counts).Broken(),
            "21 of 121 rows are at fault, more than max_bad_rows (0.01) allows");
}

TEST(FaultShareTest, WordsAreThoseOfTheLargerShare) {
  const FaultBound bound = Bound();
  const FaultShare rows(bound, kReasons, Counts(5, 2, 100, 45));
  EXPECT_TRUE(rows.IsTold());
  EXPECT_EQ(rows.Told(), "2 of 5 rows (40 %) were");
  EXPECT_EQ(rows.OrRaise(), "; or raise max_bad_rows if so many are right");
  const FaultShare bytes(bound, kReasons, Counts(3, 1, 38'000'050, 38'000'000));
  EXPECT_EQ(bytes.Broken(),
            "1 of 3 rows, with 99.99 % of the bytes, is at fault, more than max_bad_rows (0.01) allows");
  EXPECT_EQ(bytes.Told(), "1 of 3 rows (33.33 %; 99.99 % of the bytes) was");
  EXPECT_EQ(FaultShare(bound, kReasons, Counts(30, 30)).OrRaise(), "") << "no bound would help";
  EXPECT_FALSE(FaultShare(bound, kReasons, Counts(100, 9)).IsTold());
  EXPECT_TRUE(FaultShare(bound, kReasons, Counts(100, 10)).IsTold());
}

TEST(FaultShareTest, MainReasonIsThatOfMostRowsOrBytes) {
  StageCounts counts = Counts(100, 5, 100'000, 10'000);
  counts.Add("torn", 2);
  const FaultBound bound = Bound();
  EXPECT_EQ(FaultShare(bound, kReasons, counts).main_reason(), "bad");
  counts.AddSize("torn", {60'000});
  EXPECT_EQ(FaultShare(bound, kReasons, counts).main_reason(), "torn");
  EXPECT_EQ(FaultShare(bound, kReasons, Counts(9, 0)).main_reason(), "");
}

}  // namespace
}  // namespace pipeline
