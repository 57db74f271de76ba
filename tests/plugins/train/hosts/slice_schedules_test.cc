#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "tests/plugins/train/hosts/slice_model.h"

namespace pipeline {
namespace {

using Fault = SliceModel::Fault;

struct Hit {
  int at;
  Fault fault;
  int host;
  int seconds;
};

std::vector<Hit> RandomSchedule(std::mt19937_64& random, int hosts) {
  const auto draw = [&](int least, int most) {
    return least + static_cast<int>(random() % static_cast<std::uint64_t>(most - least + 1));
  };
  std::vector<Hit> hits;
  for (int count = draw(1, 7); count > 0; --count)
    hits.push_back({.at = draw(5, 400),
                    .fault = static_cast<Fault>(draw(0, static_cast<int>(Fault::kCount) - 1)),
                    .host = draw(0, hosts - 1),
                    .seconds = draw(1, draw(0, 1) ? 15 : 250)});
  std::sort(hits.begin(), hits.end(), [](const Hit& a, const Hit& b) { return a.at < b.at; });
  return hits;
}

/// Runs until the end of the run, at most two hours.
void Play(SliceModel& model, const std::vector<Hit>& hits) {
  std::size_t next = 0;
  while (model.now() < 7200 && (next < hits.size() || !model.Done()) && model.broken().empty()) {
    model.Tick();
    for (; next < hits.size() && hits[next].at <= model.now(); ++next)
      model.Hit(hits[next].fault, hits[next].host, hits[next].seconds);
  }
}

class SliceSchedulesTest : public testing::TestWithParam<std::uint64_t> {};

/// No marker lacks a part, no two leaders act, no host restores a step that is not there, no run waits for
/// ever.
TEST_P(SliceSchedulesTest, KeepThePromises) {
  std::mt19937_64 random(GetParam());
  for (int round = 0; round < 1000; ++round) {
    SliceOptions options;
    options.hosts = 2 + round % 4;
    options.slowest_s = round % 3 ? 1 : 5;
    const std::uint64_t seed = random();
    const std::vector<Hit> hits = RandomSchedule(random, options.hosts);
    SliceModel model(options, seed);
    Play(model, hits);
    if (model.Done() && model.broken().empty()) continue;
    std::string schedule;
    for (const Hit& hit : hits)
      schedule += "  " + std::to_string(hit.at) + " s: fault " + std::to_string(static_cast<int>(hit.fault)) +
                  " host " + std::to_string(hit.host) + " for " + std::to_string(hit.seconds) + " s\n";
    FAIL() << "round " << round << " of " << GetParam() << ", " << options.hosts << " hosts\n"
           << schedule << model.Describe();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, SliceSchedulesTest, testing::Range<std::uint64_t>(0, 10));

TEST(SliceModelTest, AnUndisturbedRunTakesOneAttempt) {
  SliceModel model(SliceOptions{}, 1);
  Play(model, {});
  EXPECT_TRUE(model.Done()) << model.Describe();
  EXPECT_EQ(model.attempts(), 1) << model.Describe();
  EXPECT_LT(model.now(), 400);
}

/// SIGTERM, a preemption and a maintenance of any host.
TEST(SliceModelTest, AStopOfAnyHostLeadsToOneCheckpointOfAllAndKillsNoTrainer) {
  for (int host = 0; host < 4; ++host)
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      SliceOptions options;
      options.hosts = 4;
      SliceModel model(options, seed);
      while (model.Training() == 0) model.Tick();
      const std::int64_t attempt = model.Training();
      for (std::uint64_t more = 0; more < 30 + seed; ++more) model.Tick();
      ASSERT_EQ(model.Training(), attempt);
      model.Hit(Fault::kStop, host, 1);
      for (int more = 0; more < 60; ++more) model.Tick();
      const std::vector<SliceModel::Exit> exits = model.Exits(attempt);
      ASSERT_EQ(exits.size(), 4u) << "host " << host << ", seed " << seed << model.Describe();
      for (const SliceModel::Exit& exit : exits) {
        EXPECT_EQ(exit.code, 42) << "host " << exit.host << ", stopped was " << host << ", seed " << seed;
        EXPECT_EQ(exit.signal, 0) << "host " << exit.host << ", stopped was " << host << ", seed " << seed;
        EXPECT_EQ(exit.step, exits[0].step);
      }
      Play(model, {});
      EXPECT_TRUE(model.Done()) << "it goes on when the host has come back" << model.Describe();
    }
}

class LostHostTest : public testing::TestWithParam<Fault> {};

TEST_P(LostHostTest, AllTrainersHaveEndedWithinAMinuteOfItsLastSign) {
  for (int host = 0; host < 4; ++host)
    for (std::uint64_t seed = 0; seed < 25; ++seed) {
      SliceOptions options;
      options.hosts = 4;
      options.steps = 1000;
      SliceModel model(options, seed);
      while (model.Training() == 0) model.Tick();
      const std::int64_t attempt = model.Training();
      for (std::uint64_t more = 0; more < 20 + seed; ++more) model.Tick();
      ASSERT_EQ(model.Training(), attempt);
      const int last_sign = model.LastSign(host);
      model.Hit(GetParam(), host, 400);
      while (model.now() < last_sign + 350) model.Tick();
      EXPECT_LE(model.LastTrainer(attempt), last_sign + 60) << "host " << host << ", seed " << seed;
      EXPECT_EQ(model.Training(), 0);
    }
}

std::string NameOf(const testing::TestParamInfo<Fault>& fault) {
  return fault.param == Fault::kKill ? "killed" : fault.param == Fault::kFreeze ? "frozen" : "cut_off";
}
INSTANTIATE_TEST_SUITE_P(Faults, LostHostTest, testing::Values(Fault::kKill, Fault::kFreeze, Fault::kCut),
                         NameOf);

}  // namespace
}  // namespace pipeline
