#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "plugins/train/hosts/errands.h"
#include "plugins/train/hosts/slice_loop.h"

namespace pipeline {
namespace {

using namespace std::chrono_literals;

TEST(ThreadErrandsTest, WorksBesideTheLoopAndAnswersOnItsThread) {
  ThreadErrands errands;
  std::atomic<bool> go = false;
  std::thread::id worked, answered;
  errands.Send(
      ErrandKind::kRead,
      [&] {
        while (!go) std::this_thread::sleep_for(1ms);
        worked = std::this_thread::get_id();
      },
      [&] { answered = std::this_thread::get_id(); });
  errands.Deliver();
  EXPECT_EQ(answered, std::thread::id()) << "it has not ended";
  go = true;
  errands.Wait(30s);
  errands.Deliver();
  EXPECT_EQ(answered, std::this_thread::get_id());
  EXPECT_NE(worked, answered);
}

TEST(ThreadErrandsTest, AnAnswerMaySendTheNextErrandOfItsKind) {
  ThreadErrands errands;
  int answers = 0;
  std::function<void()> next = [&] {
    if (++answers < 100)
      errands.Send(
          ErrandKind::kSign, [] {}, next);
  };
  errands.Send(
      ErrandKind::kSign, [] {}, next);
  while (answers < 100) {
    errands.Wait(30s);
    errands.Deliver();
  }
}

TEST(ThreadErrandsTest, WaitsForWorkAtTheEndAndDropsItsAnswer) {
  bool answered = false;
  std::atomic<bool> worked = false;
  {
    ThreadErrands errands;
    errands.Send(
        ErrandKind::kWrite,
        [&] {
          std::this_thread::sleep_for(20ms);
          worked = true;
        },
        [&] { answered = true; });
  }
  EXPECT_TRUE(worked);
  EXPECT_FALSE(answered);
}

/// Objects in memory, for loops on several threads.
class MemoryBooks final : public SliceBooks {
 public:
  Result<std::optional<StoredCard>> ReadCard(int host) override {
    const std::lock_guard lock(mutex_);
    const auto found = cards_.find(host);
    return found == cards_.end() ? std::optional<StoredCard>() : std::optional(found->second);
  }
  Result<std::optional<std::string>> WriteCard(const HostCard& card, const std::string& known) override {
    const std::lock_guard lock(mutex_);
    StoredCard& stored = cards_[card.host];
    if (stored.version != known) return std::optional<std::string>();
    stored = {card, std::to_string(++versions_)};
    return std::optional(stored.version);
  }
  Result<std::optional<AttemptRecord>> ReadAttempt(std::int64_t number) override {
    const std::lock_guard lock(mutex_);
    const auto found = attempts_.find(number);
    return found == attempts_.end() ? std::optional<AttemptRecord>() : std::optional(found->second);
  }
  Result<bool> HasEnd(std::int64_t number) override {
    const std::lock_guard lock(mutex_);
    return ends_.contains(number);
  }
  Result<bool> CreateAttempt(const AttemptRecord& attempt) override {
    const std::lock_guard lock(mutex_);
    return attempts_.emplace(attempt.number, attempt).second;
  }
  Result<bool> CreateEnd(const AttemptEndRecord& end) override {
    const std::lock_guard lock(mutex_);
    return ends_.emplace(end.number, end).second;
  }
  /// As a store that lost bytes.
  void DamageCard(int host) {
    const std::lock_guard lock(mutex_);
    cards_[host] = {HostCard(), std::to_string(++versions_)};
  }
  Result<bool> IsPublished() override { return false; }
  Result<std::int64_t> NewestMarker() override {
    if (markers_damaged) return Status(Code::kDataLoss, "none of 2 checkpoints can be read");
    return -1;
  }
  Result<std::vector<OtherCardName>> ListOtherCards() override { return std::vector<OtherCardName>(); }
  Result<std::optional<HostCard>> ReadOtherCard(const OtherCardName&) override {
    return std::optional<HostCard>();
  }

  bool markers_damaged = false;  // set before any loop runs

 private:
  std::mutex mutex_;
  std::int64_t versions_ = 0;
  std::map<int, StoredCard> cards_;
  std::map<std::int64_t, AttemptRecord> attempts_;
  std::map<std::int64_t, AttemptEndRecord> ends_;
};

/// Fails in its first attempt on host 1, and trains for a moment otherwise.
class ShortTrainer final : public SliceTrainer {
 public:
  explicit ShortTrainer(int host) : host_(host) {}
  void Start(const AttemptRecord& attempt) override {
    attempts.push_back(attempt);
    ticks_ = 20;
  }
  void Stop() override {}
  void Kill() override { ticks_ = ticks_ > 0 ? 1 : 0; }
  std::optional<TrainerEnd> TakeEnd() override {
    if (ticks_ == 0 || --ticks_ > 0) return {};
    TrainerEnd end;
    end.code = attempts.size() == 1 ? (host_ == 1 ? 70 : 75) : 0;
    end.cause = "a bug";
    return end;
  }
  std::vector<LocalCheckpoint> Local() override { return {}; }
  void Send(const LocalCheckpoint&) override {}
  bool Fetches() override { return host_ == 1; }
  void OthersFetch(bool others) override { told = told || others; }
  bool Ready() override { return ready; }
  void Complete(AttemptRecord& attempt) override { attempt.coordinator = "here:1"; }
  RestartDecision Advise(const TrainerEnd& end) override {
    advised = end;
    return {.kind = RestartDecision::Kind::kAgain, .wait = 10ms, .code = {}, .why = {}};
  }
  bool MayPublish() override { return true; }
  std::optional<TrainingEnd> Publish() override { return TrainingEnd{}; }

  std::vector<AttemptRecord> attempts;
  TrainerEnd advised;
  bool told = false;  // of a host that fetches
  bool ready = true;

 private:
  const int host_;
  int ticks_ = 0;
};

TEST(SliceLoopTest, ADamagedCardOfItsOwnIsWrittenAgain) {
  HostTiming timing;
  timing.renew = 1ms;
  MemoryBooks books;
  ShortTrainer trainer(1);
  HostCard card;
  card.host = 1;
  card.hosts = 2;
  card.nonce = "own";
  ThreadErrands errands;
  SliceLoop loop(
      card, timing, books, trainer, errands, [](std::string_view) {}, 0s);
  const auto is_written = [&] {
    const auto stored = books.ReadCard(1);
    return *stored && (*stored)->card.nonce == "own";
  };
  HostTiming::Time now = 0s;
  for (int damages = 0; damages < 3; ++damages) {
    for (int tries = 0; tries < 3000 && !is_written(); ++tries) {
      ASSERT_FALSE(loop.Tick(now += 1ms, false)) << "nobody else has this number";
      errands.Wait(10ms);
      errands.Deliver();
    }
    ASSERT_TRUE(is_written());
    books.DamageCard(1);
  }
}

TEST(SliceLoopTest, DamagedMarkersEndTheRunAndNothingBeginsAnew) {
  HostTiming timing;
  timing.renew = timing.poll = 1ms;
  MemoryBooks books;
  books.markers_damaged = true;
  ShortTrainer trainer(0);
  HostCard card;
  card.hosts = 1;
  card.nonce = "own";
  ThreadErrands errands;
  SliceLoop loop(
      card, timing, books, trainer, errands, [](std::string_view) {}, 0s);
  std::optional<TrainingEnd> end;
  HostTiming::Time now = 0s;
  for (int tries = 0; tries < 3000 && !end; ++tries) {
    end = loop.Tick(now += 1ms, false);
    errands.Wait(10ms);
    errands.Deliver();
  }
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, Code::kDataLoss);
  EXPECT_TRUE(trainer.attempts.empty());
}

TEST(SliceLoopTest, NoAttemptBeginsBeforeTheLeaderIsReady) {
  HostTiming timing;
  timing.renew = timing.poll = 1ms;
  MemoryBooks books;
  ShortTrainer trainer(0);
  trainer.ready = false;
  HostCard card;
  card.hosts = 1;
  card.nonce = "own";
  ThreadErrands errands;
  SliceLoop loop(
      card, timing, books, trainer, errands, [](std::string_view) {}, 0s);
  HostTiming::Time now = 0s;
  for (int tries = 0; tries < 3000 && trainer.attempts.empty(); ++tries) {
    ASSERT_FALSE(loop.Tick(now += 1ms, false));
    if (tries == 50) {
      EXPECT_TRUE(trainer.attempts.empty());
      trainer.ready = true;
    }
    errands.Wait(10ms);
    errands.Deliver();
  }
  EXPECT_EQ(trainer.attempts.size(), 1u);
}

TEST(SliceLoopTest, HostsOnThreadsTrainTogetherAndEndTogether) {
  constexpr int kHosts = 3;
  HostTiming timing;
  timing.renew = 30ms;
  timing.poll = 10ms;
  MemoryBooks books;
  std::vector<std::unique_ptr<ShortTrainer>> trainers;
  std::vector<std::optional<TrainingEnd>> ends(kHosts);
  for (int host = 0; host < kHosts; ++host) trainers.push_back(std::make_unique<ShortTrainer>(host));
  {
    std::vector<std::jthread> hosts;
    for (int host = 0; host < kHosts; ++host)
      hosts.emplace_back([&, host] {
        HostCard card;
        card.host = host;
        card.hosts = kHosts;
        card.nonce = "start of " + std::to_string(host);
        const auto began = std::chrono::steady_clock::now();
        const auto now = [began] { return HostTiming::Time(std::chrono::steady_clock::now() - began); };
        const auto at = static_cast<std::size_t>(host);
        ThreadErrands errands;
        SliceLoop loop(
            card, timing, books, *trainers[at], errands, [](std::string_view) {}, now());
        while (!ends[at] && now() < 60s) {
          ends[at] = loop.Tick(now(), false);
          errands.Wait(5ms);
          errands.Deliver();
        }
      });
  }
  for (const auto& end : ends) {
    ASSERT_TRUE(end);
    EXPECT_EQ(end->outcome, TrainingOutcome::kDone);
  }
  for (const auto& trainer : trainers) {
    ASSERT_EQ(trainer->attempts.size(), 2u);
    EXPECT_EQ(trainer->attempts[1].number, 2);
    EXPECT_EQ(trainer->attempts[1].coordinator, "here:1");
    EXPECT_EQ(trainer->attempts[1].nonces[2], "start of 2");
  }
  for (const auto& trainer : trainers) EXPECT_TRUE(trainer->told) << "host 1 waits for its rows";
  EXPECT_EQ(trainers[0]->advised.code, 70) << "the failure that explains the others";
}

}  // namespace
}  // namespace pipeline
