#include "stages/lines/split.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "base/digest.h"
#include "base/str.h"
#include "dag/records/transform.h"
#include "tests/stages/batches.h"

namespace pipeline {
namespace {

constexpr std::uint64_t kHalf = std::uint64_t{1} << 63;
constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();

Json Splits(const std::vector<std::pair<std::string, double>>& splits) {
  Json json = Json::Array{};
  for (const auto& [name, fraction] : splits) json.Append(Json::Array{name, fraction});
  return json;
}

Json SplitConfig(const std::vector<std::pair<std::string, double>>& splits, int min_documents = 1) {
  Json config;
  config["splits"] = Splits(splits);
  config["min_documents"] = min_documents;
  return config;
}

SplitRule Rule(const std::vector<std::pair<std::string, double>>& splits) {
  auto rule = SplitRule::Make(Splits(splits));
  EXPECT_TRUE(rule.ok()) << rule.status().message();
  return std::move(rule).value();
}

std::string WhyNoRule(const std::vector<std::pair<std::string, double>>& splits) {
  const auto rule = SplitRule::Make(Splits(splits));
  if (rule.ok()) return "it is one";
  EXPECT_EQ(rule.status().code(), Code::kInvalidArgument);
  return std::string(rule.status().message());
}

/// Keys as documents have them.
std::uint64_t Key(int document) { return Hash64(StrCat("document ", document)); }

TEST(SplitRuleTest, BordersAreExact) {
  const SplitRule half = Rule({{"a", 0.5}, {"b", 0.5}});
  EXPECT_EQ(half.OfHash(0), 0);
  EXPECT_EQ(half.OfHash(kHalf - 1), 0);
  EXPECT_EQ(half.OfHash(kHalf), 1);
  EXPECT_EQ(half.OfHash(kLast), 1);

  // 2^-64 gets one hash of all.
  const double tiny = std::ldexp(1.0, -64);
  const SplitRule least = Rule({{"a", tiny}, {"b", 1 - tiny}});
  EXPECT_EQ(least.OfHash(0), 0);
  EXPECT_EQ(least.OfHash(1), 1);

  const SplitRule three = Rule({{"a", 0.25}, {"b", 0.25}, {"c", 0.5}});
  EXPECT_EQ(three.OfHash(kHalf / 2 - 1), 0);
  EXPECT_EQ(three.OfHash(kHalf / 2), 1);
  EXPECT_EQ(three.OfHash(kHalf - 1), 1);
  EXPECT_EQ(three.OfHash(kHalf), 2);
}

TEST(SplitRuleTest, DecimalFractionsLeaveNoHashOut) {
  const SplitRule tenths = Rule({{"a", 0.1}, {"b", 0.2}, {"c", 0.7}});
  EXPECT_EQ(tenths.OfHash(kLast), 2);
  EXPECT_EQ(tenths.OfHash(1844674407370955264u - 1), 0);  // floor(0.1 * 2^64), 0.1 as a double
  EXPECT_EQ(tenths.OfHash(1844674407370955264u + 512), 1);
  EXPECT_EQ(Rule({{"only", 1.0}}).OfHash(kLast), 0);
  EXPECT_EQ(Rule({{"a", 1 - 0x1p-53}, {"b", 0x1p-53}}).OfHash(kLast), 1);
}

TEST(SplitRuleTest, TheChoiceForAKeyNeverChanges) {
  // What data sets of earlier versions were split by: these must stay.
  const SplitRule rule = Rule({{"train", 0.9}, {"test", 0.1}});
  std::string choices;
  for (int i = 0; i < 60; ++i) choices += std::to_string(rule.Of(Key(i)));
  EXPECT_EQ(choices, "000010000000000000000000000001000010000010001010000000000000");
  EXPECT_EQ(SplitRule::HashKey(1), 8082428807265338905u);
}

TEST(SplitRuleTest, AnotherFractionMovesOnlyWhatItMust) {
  const SplitRule small = Rule({{"validation", 0.01}, {"train", 0.99}});
  const SplitRule large = Rule({{"validation", 0.05}, {"train", 0.95}});
  int moved = 0;
  for (int i = 0; i < 20'000; ++i) {
    if (small.Of(Key(i)) == 0) {
      EXPECT_EQ(large.Of(Key(i)), 0);
    }
    if (small.Of(Key(i)) != large.Of(Key(i))) ++moved;
  }
  EXPECT_NEAR(moved, 800, 120);
}

TEST(SplitRuleTest, FractionsAreMetWhateverTheKeysLookLike) {
  const SplitRule rule = Rule({{"a", 0.5}, {"b", 0.3}, {"c", 0.2}});
  std::map<int, int> counting;
  std::map<int, int> hashed;
  for (int i = 0; i < 20'000; ++i) {
    ++counting[rule.Of(static_cast<std::uint64_t>(i))];
    ++hashed[rule.Of(Key(i))];
  }
  for (const auto& counts : {counting, hashed}) {
    EXPECT_NEAR(counts.at(0), 10'000, 300);
    EXPECT_NEAR(counts.at(1), 6'000, 300);
    EXPECT_NEAR(counts.at(2), 4'000, 300);
  }
}

TEST(SplitRuleTest, TheChoiceSaysNothingAboutTheKeyItself) {
  // Held-out documents are spread over all keys, and over another hash of them.
  const SplitRule rule = Rule({{"train", 0.9}, {"test", 0.1}});
  int test = 0;
  int low_key = 0;
  int low_hash = 0;
  for (int i = 0; i < 40'000; ++i) {
    if (rule.Of(Key(i)) == 0) continue;
    ++test;
    if (Key(i) < kHalf) ++low_key;
    const std::uint64_t key = Key(i);
    if (Hash64({reinterpret_cast<const char*>(&key), sizeof key}) < kHalf) ++low_hash;
  }
  EXPECT_NEAR(low_key, test / 2, 150);
  EXPECT_NEAR(low_hash, test / 2, 150);
}

TEST(SplitRuleTest, RefusesWhatIsNoPartition) {
  EXPECT_EQ(WhyNoRule({{"a", 0.75}, {"b", 0.5}}),
            "splits: the fractions add up to more than 1 (1.25 with 'b')");
  EXPECT_EQ(WhyNoRule({{"a", 0.25}, {"b", 0.5}}),
            "splits: the fractions add up to 0.75, which leaves documents without a split; "
            "write `rest` for one of them");
  EXPECT_EQ(WhyNoRule({{"a", 1.0}, {"b", 0.0}}),
            "splits: 'b' gets 0 of the documents: fractions are above 0 and add up to 1");
  EXPECT_EQ(WhyNoRule({{"a", 1.5}, {"b", -0.5}}),
            "splits: the fractions add up to more than 1 (1.5 with 'a')");
  EXPECT_EQ(WhyNoRule({{"a", 0.5}, {"a", 0.5}}), "splits: 'a' comes twice");
  EXPECT_EQ(WhyNoRule({}), "splits: there can be 1 to 256 splits, not 0");
  EXPECT_NE(WhyNoRule({{"a", std::nan("")}}), "it is one");
  std::vector<std::pair<std::string, double>> many;
  for (int i = 0; i < 257; ++i) many.emplace_back(StrCat("s", i), 1.0 / 257);
  EXPECT_EQ(WhyNoRule(many), "splits: there can be 1 to 256 splits, not 257");
}

TEST(SplitTest, WritesTheColumnByDocumentKey) {
  const auto transform = MakeTransform(SplitType(), SplitConfig({{"train", 0.5}, {"test", 0.5}}));
  const SplitRule rule = Rule({{"train", 0.5}, {"test", 0.5}});
  Batch batch = BatchOf({"a", "b", "c", "d"});
  for (std::size_t row = 0; row < 4; ++row) batch.heads[row].key = Key(static_cast<int>(row / 2));
  const StageCounts counts = ApplyTo(batch, *transform);
  ASSERT_EQ(batch.split.size(), 4u);
  for (std::size_t row = 0; row < 4; ++row) EXPECT_EQ(batch.split[row], rule.Of(batch.heads[row].key));
  EXPECT_EQ(batch.split[0], batch.split[1]) << "one document, one split";
}

TEST(SplitTest, TheSchemaGetsColumnAndNames) {
  const StageType type = SplitType();
  Schema schema = TextSchema();
  ASSERT_TRUE(type.check(SplitConfig({{"train", 0.5}, {"test", 0.5}}), schema).ok());
  EXPECT_EQ(schema.columns.at("split"), ColumnType::kU8);
  EXPECT_EQ(schema.splits, (std::vector<std::string>{"train", "test"}));
  EXPECT_FALSE(type.check(SplitConfig({{"train", 1.0}}), schema).ok()) << "splitting twice";
  Schema fresh = TextSchema();
  EXPECT_FALSE(type.check(SplitConfig({{"train", 0.8}, {"test", 0.4}}), fresh).ok());
  EXPECT_FALSE(type.check(SplitConfig({{"train", 1.0}}, -1), fresh).ok());
  EXPECT_EQ(fresh, TextSchema()) << "a mistake leaves the schema alone";
}

TEST(SplitTest, JudgeNamesTheSplitAndWhatWouldDo) {
  const auto transform = MakeTransform(SplitType(), SplitConfig({{"train", 0.9999}, {"validation", 0.0001}}));
  ArtifactTotals totals;
  totals.splits["train"] = {.records = 50'000, .documents = 9'999, .bytes = 1};
  const Status empty = transform->CheckCounts(totals);
  EXPECT_EQ(empty.code(), Code::kFailedPrecondition);
  EXPECT_EQ(empty.message(),
            "split 'validation' has 0 of 9999 documents (fraction 0.0001) and needs 1: "
            "a fraction of 0.0008 would do");
  totals.splits["validation"] = {.records = 5, .documents = 1, .bytes = 1};
  EXPECT_TRUE(transform->CheckCounts(totals).ok());
}

TEST(SplitTest, JudgeSaysWhenNoFractionWouldDo) {
  const auto transform = MakeTransform(SplitType(), SplitConfig({{"train", 0.9}, {"validation", 0.1}}, 3));
  ArtifactTotals totals;
  totals.splits["train"] = {.records = 9, .documents = 4, .bytes = 1};
  EXPECT_EQ(
      transform->CheckCounts(totals).message(),
      "split 'validation' has 0 of 4 documents (fraction 0.1) and needs 3: the corpus is too "
      "small for it; add text, lower min_documents, or leave the split out; 9 lines are 4 documents: a "
      "row of a table is one, and in plain text only a blank line ends one; if each line of a text is a "
      "document, write `documents: line` in the stage that reads it");
  totals.splits["train"].records = 4;
  EXPECT_EQ(transform->CheckCounts(totals).message(),
            "split 'validation' has 0 of 4 documents (fraction 0.1) and needs 3: the corpus is too "
            "small for it; add text, lower min_documents, or leave the split out");
  EXPECT_EQ(transform->CheckCounts(ArtifactTotals()).message(),
            "there are no documents to split: the input is empty, or the stages before left nothing of it");
}

/// A writer refuses an empty split, so a lower minimum than one document is no way out.
TEST(SplitTest, JudgeAdvisesNoLowerMinimumThanOneDocument) {
  const auto transform = MakeTransform(SplitType(), SplitConfig({{"train", 0.9}, {"validation", 0.1}}));
  ArtifactTotals totals;
  totals.splits["train"] = {.records = 9, .documents = 4, .bytes = 1};
  EXPECT_EQ(
      transform->CheckCounts(totals).message(),
      "split 'validation' has 0 of 4 documents (fraction 0.1) and needs 1: the corpus is too "
      "small for it; add text, or leave the split out; 9 lines are 4 documents: a row of a table is one, "
      "and in plain text only a blank line ends one; if each line of a text is a document, write "
      "`documents: line` in the stage that reads it");
}

TEST(SplitTest, NoMinimumNoVerdict) {
  const auto transform = MakeTransform(SplitType(), SplitConfig({{"train", 0.9}, {"validation", 0.1}}, 0));
  EXPECT_TRUE(transform->CheckCounts(ArtifactTotals()).ok());
}

}  // namespace
}  // namespace pipeline
