#include "plugins/train/hosts/recipe_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/str.h"
#include "tests/plugins/train/hosts/scripted_loop.h"

namespace pipeline {
namespace {

using Names = std::vector<OtherCardName>;
using namespace std::chrono_literals;

class RecipeSearchTest : public testing::Test {
 protected:
  /// Reads a card twice, twenty seconds apart.
  void ReadTwice(const OtherCardName& name, bool lives) {
    search.Saw(name, CardOf(name.host, 1), now);
    search.Saw(name, CardOf(name.host, lives ? 2 : 1), now + 20s);
  }

  HostTiming::Time now = 100s;
  RecipeSearch search{40s};
};

TEST_F(RecipeSearchTest, ACardCountsOnlyAfterItsSignHasChanged) {
  search.Listed({{"train-b", 2}});
  EXPECT_EQ(search.ToRead({1, 2}), (Names{{"train-b", 2}}));
  search.Saw({"train-b", 2}, CardOf(2, 1), now);
  EXPECT_TRUE(search.Living({1, 2}, now).empty()) << "a run of last week has such a card, too";
  search.Saw({"train-b", 2}, CardOf(2, 1), now + 20s);
  EXPECT_TRUE(search.Living({1, 2}, now + 20s).empty());
  search.Saw({"train-b", 2}, CardOf(2, 2), now + 40s);
  EXPECT_EQ(search.Living({1, 2}, now + 40s),
            (std::map<int, RecipeSearch::Found>{{2, {.run = "train-b", .address = "10.0.0.3"}}}));
  EXPECT_TRUE(search.Living({1}, now + 40s).empty()) << "host 2 has come";
  EXPECT_TRUE(search.Living({1, 2}, now + 81s).empty()) << "it has ended";
}

TEST_F(RecipeSearchTest, HostsThatHaveALeaderAreThoseOfAnotherTraining) {
  search.Listed({{"train-b", 0}, {"train-b", 2}, {"train-c", 0}, {"train-c", 2}});
  EXPECT_EQ(search.ToRead({2}).size(), 4u);
  ReadTwice({"train-b", 0}, true);
  ReadTwice({"train-b", 2}, true);
  ReadTwice({"train-c", 2}, true);
  EXPECT_TRUE(search.Living({2}, now + 20s).empty()) << "nobody has looked for the leader of train-c";
  search.Saw({"train-c", 0}, CardOf(0, 7), now + 20s);
  EXPECT_TRUE(search.Living({2}, now + 20s).empty()) << "it may live";
  search.Saw({"train-b", 0}, CardOf(0, 3), now + 61s);
  search.Saw({"train-c", 0}, CardOf(0, 7), now + 61s);
  search.Saw({"train-c", 2}, CardOf(2, 3), now + 61s);
  ASSERT_EQ(search.Living({2}, now + 61s).size(), 1u);
  EXPECT_EQ(search.Living({2}, now + 61s).at(2).run, "train-c");
}

TEST_F(RecipeSearchTest, OnlyDirectoriesOfMissingHostsAreReadSomeAtATime) {
  Names names;
  for (int run = 100; run < 140; ++run)
    for (int host = 0; host < 4; ++host) names.push_back({StrCat("train-", run), host});
  names.push_back({"train-old", 1});
  search.Listed(names);
  Names read;
  for (int round = 0; round < 3; ++round) {
    const Names some = search.ToRead({2, 3});
    EXPECT_LE(some.size(), RecipeSearch::kMostAtOnce + 2);
    read.insert(read.end(), some.begin(), some.end());
  }
  std::sort(read.begin(), read.end());
  read.erase(std::unique(read.begin(), read.end()), read.end());
  EXPECT_EQ(read.size(), 120u) << "hosts 0, 2 and 3 of each";
  EXPECT_TRUE(search.ToRead({}).empty());
}

TEST_F(RecipeSearchTest, ANewListKeepsTheWatchesAndForgetsTheRest) {
  search.Listed({{"train-b", 2}, {"train-c", 2}});
  ReadTwice({"train-b", 2}, true);
  search.Listed({{"train-b", 2}, {"train-d", 2}});
  EXPECT_EQ(search.Living({2}, now + 20s).at(2).run, "train-b");
  search.Saw({"train-c", 2}, CardOf(2, 1), now);
  EXPECT_EQ(search.ToRead({2}), (Names{{"train-b", 2}, {"train-d", 2}}));
}

/// Host 1 is there, host 2 lives with another recipe, and an earlier recipe has cards that nobody renews.
class SearchingLoopTest : public ScriptedLoopTest {
 protected:
  SearchingLoopTest() {
    books.cards[1] = CardOf(1, 0);
    books.alive = {1};
    books.others = {{"train-bb", 1}, {"train-bb", 2}, {"train-old", 0}, {"train-old", 1}, {"train-old", 2}};
  }
};

TEST_F(SearchingLoopTest, AHostThatLivesWithAnotherRecipeIsNamedAndOldCardsNever) {
  Pass(29);
  EXPECT_EQ(books.lists, 0) << "most hosts come within seconds";
  Pass(60);
  EXPECT_EQ(books.lists, 1);
  EXPECT_TRUE(Said("waiting for a sign of life of host 2 (10.0.0.3: it runs another recipe, train-bb)"))
      << said;
  EXPECT_FALSE(Said("train-old")) << said;
  EXPECT_FALSE(Said("host 1 (10.0.0.2: it")) << "it is here";
  Pass(600);
  EXPECT_EQ(books.lists, 3) << "every five minutes";
  EXPECT_LT(books.other_reads, 200);
}

TEST_F(SearchingLoopTest, ASlowSearchDelaysNothing) {
  errands.stuck = ErrandKind::kSearch;
  Pass(600);
  EXPECT_GE(books.renewals, 59);
  EXPECT_FALSE(Said("another recipe"));
}

}  // namespace
}  // namespace pipeline
