// One host with a scripted clock: the real SliceLoop, with objects in memory, requests that are done at once
// or never, and a trainer that does as the test says.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/str.h"
#include "plugins/train/hosts/slice_loop.h"

namespace pipeline {

inline HostCard CardOf(int host, std::int64_t sign) {
  HostCard card;
  card.host = host;
  card.hosts = 3;
  card.nonce = StrCat("n", host);
  card.address = StrCat("10.0.0.", host + 1);
  card.sign = sign;
  return card;
}

class ScriptedBooks final : public SliceBooks {
 public:
  /// Each read of a card in `alive` finds a new sign.
  Result<std::optional<StoredCard>> ReadCard(int host) override {
    const auto found = cards.find(host);
    if (found == cards.end()) return std::optional<StoredCard>();
    if (alive.contains(host)) found->second.sign = ++signs;
    return std::optional(StoredCard{found->second, "v"});
  }
  Result<std::optional<std::string>> WriteCard(const HostCard& card, const std::string&) override {
    ++renewals;
    written = card;
    return std::optional<std::string>("v");
  }
  Result<std::optional<AttemptRecord>> ReadAttempt(std::int64_t number) override {
    ++attempt_reads;
    if (damaged.contains(number)) return Status(Code::kDataLoss, "it is damaged");
    const auto found = attempts.find(number);
    return found == attempts.end() ? std::optional<AttemptRecord>() : std::optional(found->second);
  }
  Result<bool> HasEnd(std::int64_t number) override { return ends.contains(number); }
  Result<bool> CreateAttempt(const AttemptRecord& attempt) override {
    return !damaged.contains(attempt.number) && attempts.emplace(attempt.number, attempt).second;
  }
  Result<bool> CreateEnd(const AttemptEndRecord& end) override {
    if (failing_ends > 0 && failing_ends-- > 0) return Status(Code::kUnavailable, "no answer");
    return ends.insert(end.number).second;
  }
  Result<bool> IsPublished() override { return false; }
  Result<std::int64_t> NewestMarker() override { return marker; }
  Result<std::vector<OtherCardName>> ListOtherCards() override {
    ++lists;
    return others;
  }
  /// Nobody renews the cards of the directory "train-old".
  Result<std::optional<HostCard>> ReadOtherCard(const OtherCardName& name) override {
    ++other_reads;
    return std::optional(CardOf(name.host, name.run == "train-old" ? 7 : ++signs));
  }

  std::map<int, HostCard> cards;
  std::set<int> alive;
  HostCard written;
  std::map<std::int64_t, AttemptRecord> attempts;
  std::set<std::int64_t> ends, damaged;  // of attempts
  std::int64_t marker = -1, signs = 0;
  std::vector<OtherCardName> others;
  int failing_ends = 0;
  int renewals = 0, attempt_reads = 0, lists = 0, other_reads = 0;
};

class ScriptedTrainer final : public SliceTrainer {
 public:
  void Start(const AttemptRecord& attempt) override { started.push_back(attempt.number); }
  void Stop() override { ++stops; }
  void Kill() override { ++kills; }
  std::optional<TrainerEnd> TakeEnd() override { return std::exchange(end, std::nullopt); }
  std::vector<LocalCheckpoint> Local() override { return local; }
  void Send(const LocalCheckpoint&) override {}
  bool StopsTogether() override { return stops_together; }
  void LeaderTrains(bool leader) override { leader_trains = leader; }
  void Complete(AttemptRecord&) override {}
  RestartDecision Advise(const TrainerEnd&) override {
    return {.kind = RestartDecision::Kind::kAgain, .wait = {}, .code = {}, .why = {}};
  }
  bool MayPublish() override { return may_publish; }
  std::optional<TrainingEnd> Publish() override {
    ++publications;
    return published;
  }

  std::vector<std::int64_t> started;
  std::vector<LocalCheckpoint> local;
  int stops = 0, kills = 0, publications = 0;
  std::optional<TrainerEnd> end;
  bool may_publish = false, stops_together = true, leader_trains = false;
  std::optional<TrainingEnd> published;
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

/// One host of three; host 0 by default.
class ScriptedLoopTest : public testing::Test {
 protected:
  explicit ScriptedLoopTest(int host = 0) {
    loop = std::make_unique<SliceLoop>(
        CardOf(host, 0), HostTiming{}, books, trainer, errands,
        [this](std::string_view line) { said += StrCat(line, "\n"); }, now);
  }
  /// Passes so many seconds, or less if the loop ends.
  void Pass(int seconds) {
    for (; seconds > 0 && !over; --seconds) {
      now += std::chrono::seconds(1);
      over = loop->Tick(now, stopped);
      const auto answers = std::move(errands.answers);
      errands.answers.clear();
      for (const auto& done : answers) done();
    }
  }
  /// All hosts live, and train together.
  void BeginAttempt() {
    for (const int host : {1, 2}) books.cards[host] = CardOf(host, 0), books.alive.insert(host);
    Pass(15);
    ASSERT_EQ(trainer.started.size(), 1u);
    for (const int host : {1, 2}) books.cards[host].trains = trainer.started.back();
    Pass(5);
  }
  /// The trainers of all hosts end.
  void EndAll(int code) {
    TrainerEnd end;
    end.attempt = trainer.started.back();
    end.code = code;
    trainer.end = end;
    for (const int host : {1, 2}) books.cards[host].trains = 0, books.cards[host].ended = end;
  }
  bool Said(std::string_view text) const { return said.find(text) != std::string::npos; }

  HostTiming::Time now{0};
  ScriptedBooks books;
  ScriptedTrainer trainer;
  ScriptedErrands errands;
  std::string said;
  bool stopped = false;
  std::optional<TrainingEnd> over;
  std::unique_ptr<SliceLoop> loop;
};

}  // namespace pipeline
