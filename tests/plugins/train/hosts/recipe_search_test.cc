#include "plugins/train/hosts/recipe_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/str.h"
#include "plugins/train/hosts/slice_loop.h"

namespace pipeline {
namespace {

using Time = HostTiming::Time;
using Names = std::vector<OtherCardName>;
using namespace std::chrono_literals;

HostCard CardOf(int host, std::int64_t sign) {
  HostCard card;
  card.host = host;
  card.hosts = 3;
  card.nonce = StrCat("n", host);
  card.address = StrCat("10.0.0.", host + 1);
  card.sign = sign;
  return card;
}

class RecipeSearchTest : public testing::Test {
 protected:
  /// Reads a card twice, twenty seconds apart.
  void ReadTwice(const OtherCardName& name, bool lives) {
    search.Saw(name, CardOf(name.host, 1), now);
    search.Saw(name, CardOf(name.host, lives ? 2 : 1), now + 20s);
  }

  Time now = 100s;
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

/// Host 0 of three waits. Host 1 is there, host 2 lives with another recipe, and an earlier recipe has cards
/// that nobody renews.
class WaitingBooks final : public SliceBooks {
 public:
  Result<std::optional<StoredCard>> ReadCard(int host) override {
    if (host == 1) return std::optional(StoredCard{CardOf(1, ++signs), "v"});
    return std::optional<StoredCard>();
  }
  Result<std::optional<std::string>> WriteCard(const HostCard&, const std::string&) override {
    ++renewals;
    return std::optional<std::string>("v");
  }
  Result<std::optional<AttemptRecord>> ReadAttempt(std::int64_t) override {
    return std::optional<AttemptRecord>();
  }
  Result<bool> HasEnd(std::int64_t) override { return false; }
  Result<bool> CreateAttempt(const AttemptRecord&) override { return false; }
  Result<bool> CreateEnd(const AttemptEndRecord&) override { return false; }
  Result<bool> IsPublished() override { return false; }
  Result<std::int64_t> NewestMarker() override { return -1; }
  Result<std::vector<OtherCardName>> ListOtherCards() override {
    ++lists;
    return Names{{"train-bb", 1}, {"train-bb", 2}, {"train-old", 0}, {"train-old", 1}, {"train-old", 2}};
  }
  Result<std::optional<HostCard>> ReadOtherCard(const OtherCardName& name) override {
    ++reads;
    return std::optional(CardOf(name.host, name.run == "train-old" ? 7 : ++signs));
  }

  std::int64_t signs = 0;
  int renewals = 0, lists = 0, reads = 0;
};

class NoTrainer final : public SliceTrainer {
 public:
  void Start(const AttemptRecord&) override {}
  void Stop() override {}
  void Kill() override {}
  std::optional<TrainerEnd> TakeEnd() override { return {}; }
  std::vector<LocalCheckpoint> Local() override { return {}; }
  void Send(const LocalCheckpoint&) override {}
  void Complete(AttemptRecord&) override {}
  RestartAdvice Advise(const TrainerEnd&) override { return {}; }
  std::optional<RunEnd> Publish() override { return {}; }
};

/// Does requests at once, except those of one kind, which never end.
class ScriptedErrands final : public Errands {
 public:
  void Send(ErrandKind kind, std::function<void()> work, std::function<void()> done) override {
    if (kind == stuck) return;
    work();
    answers.push_back(std::move(done));
  }
  std::optional<ErrandKind> stuck;
  std::vector<std::function<void()>> answers;
};

class SearchingLoopTest : public testing::Test {
 protected:
  SearchingLoopTest() {
    const HostCard card = CardOf(0, 0);
    loop = std::make_unique<SliceLoop>(
        card, HostTiming{}, books, trainer, errands,
        [this](std::string_view line) { said += StrCat(line, "\n"); }, now);
  }
  void Pass(int seconds) {
    for (; seconds > 0; --seconds) {
      now += 1s;
      EXPECT_FALSE(loop->Tick(now, false));
      const auto answers = std::move(errands.answers);
      errands.answers.clear();
      for (const auto& done : answers) done();
    }
  }
  bool Said(std::string_view text) const { return said.find(text) != std::string::npos; }

  Time now = 0s;
  WaitingBooks books;
  NoTrainer trainer;
  ScriptedErrands errands;
  std::string said;
  std::unique_ptr<SliceLoop> loop;
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
  EXPECT_LT(books.reads, 200);
}

TEST_F(SearchingLoopTest, ASlowSearchDelaysNothing) {
  errands.stuck = ErrandKind::kSearch;
  Pass(600);
  EXPECT_GE(books.renewals, 59);
  EXPECT_FALSE(Said("another recipe"));
}

}  // namespace
}  // namespace pipeline
