#include "plugins/train/hosts/slice_loop.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/str.h"

namespace pipeline {

namespace {

using namespace std::chrono_literals;

constexpr SliceLoop::Time kRetry = 1s;       // after a request that failed
constexpr SliceLoop::Time kSayAgain = 300s;  // a line that is still true
constexpr SliceLoop::Time kLastWords = 60s;  // to tell the others that the run is over
constexpr SliceLoop::Time kFarewell = 10s;   // to tell how the trainer of a host that was stopped has ended
// Missing hosts may stand in the run directories of other recipes:
constexpr SliceLoop::Time kSearchAfter = 30s;  // the wait began
constexpr SliceLoop::Time kSearchEvery = 20s;
constexpr SliceLoop::Time kListEvery = 300s;

/// Absent: there is none. One that is damaged, or of a newer program, is an attempt of nobody.
Result<std::optional<AttemptRecord>> ReadAttempt(SliceBooks& books, std::int64_t number) {
  Result<std::optional<AttemptRecord>> attempt = books.ReadAttempt(number);
  if (attempt.status().code() != Code::kDataLoss) return attempt;
  AttemptRecord nobodys;
  nobodys.number = number;
  return std::optional(std::move(nobodys));
}

/// The newest attempt from number `from` on; they are numbered without gaps. A run of months has thousands,
/// so a start does not read them all.
Result<std::optional<AttemptRecord>> NewestAttempt(SliceBooks& books, std::int64_t from) {
  ASSIGN_OR_RETURN(std::optional<AttemptRecord> newest, ReadAttempt(books, from));
  bool grows = true;
  for (std::int64_t stride = 1; newest && stride > 0;) {
    ASSIGN_OR_RETURN(std::optional<AttemptRecord> next, ReadAttempt(books, newest->number + stride));
    grows = grows && next;
    if (next) newest = std::move(next);
    stride = grows ? stride * 2 : stride / 2;
  }
  return newest;
}

}  // namespace

/// The answers of one round of reads.
struct SliceLoop::Reading {
  std::map<int, HostCard> cards;  // those that could be read
  std::optional<AttemptRecord> attempt;
  bool attempt_read = false, attempt_ended = false;
  bool published = false;
  std::optional<std::int64_t> marker;
  Status damage;   // all checkpoints are damaged
  Status failure;  // the first other one
};

SliceLoop::SliceLoop(HostCard card, const HostTiming& timing, SliceBooks& books, SliceTrainer& trainer,
                     Errands& errands, Tell tell, Time now)
    : timing_(timing),
      books_(books),
      trainer_(trainer),
      errands_(errands),
      tell_(std::move(tell)),
      member_(std::move(card), timing, now),
      now_(now),
      sign_at_(now),
      read_at_(now),
      write_at_(now),
      recipes_(timing.given_up),
      search_at_(now + kSearchAfter),
      list_at_(now),
      closing_(std::make_shared<std::atomic<bool>>(false)) {
  if (member_.leads()) leader_.emplace(member_.card().hosts, timing, now);
}

SliceLoop::~SliceLoop() { *closing_ = true; }

std::optional<TrainingEnd> SliceLoop::Tick(Time now, bool stopped) {
  now_ = now;
  if (stopped && !asked_) {
    asked_ = true;
    member_.AskedToStop();
    if (member_.trains()) trainer_.Stop();
    sign_at_ = now;
  }
  if (std::optional<TrainerEnd> end = trainer_.TakeEnd()) {
    if (!killed_.empty() && !end->good()) {
      end->lost = true;
      end->cause = std::exchange(killed_, {});
    }
    member_.Ended(std::move(*end));
    killed_.clear();
    sign_at_ = now;
  }
  member_.card().local = trainer_.Local();
  const bool others_fetch = leader_ ? leader_->OthersFetch(now) : member_.AnyFetches(now);
  trainer_.OthersFetch(others_fetch);
  if (!leader_) trainer_.LeaderTrains(member_.LeaderTrains(now));
  if (!trainer_.StopsTogether()) PassOnStop(now);
  member_.card().fetches = trainer_.Fetches() || (leader_ && others_fetch);
  if (std::optional<TrainingEnd> over = Obey(now)) return over;
  if (const std::optional<LocalCheckpoint> send = member_.ToSend(now)) trainer_.Send(*send);
  Sign(now);
  Read(now);
  if (leader_) {
    Search(now);
    Lead(now);
  }
  const bool told = told_ || now - over_at_ > kLastWords;
  if (member_.card().over && told && !member_.trains()) return member_.card().over;
  return {};
}

bool SliceLoop::HasLastWords() const {
  const HostCard& card = member_.card();
  return card.over || (card.leaves && !member_.leads() && card.trains == 0);
}

void SliceLoop::PassOnStop(Time now) {
  HostCard& card = member_.card();
  if (!leader_) {
    if (member_.LeaderStops(now)) trainer_.Stop();
    return;
  }
  const std::int64_t running = leader_->attempt() ? leader_->attempt()->number : 0;
  if (running == 0 || !(card.leaves || leader_->OthersLeave())) return;
  if (card.trains == running) trainer_.Stop();
  if (std::exchange(card.stop, running) != running) sign_at_ = now;
}

void SliceLoop::Say(std::string line) {
  std::erase_if(said_, [this](const auto& said) { return now_ - said.second > kSayAgain; });
  if (std::any_of(said_.begin(), said_.end(), [&](const auto& said) { return said.first == line; })) return;
  tell_(line);
  said_.emplace_back(std::move(line), now_);
}

void SliceLoop::Sign(Time now) {
  if (signing_ || now < sign_at_) return;
  signing_ = true;
  sign_at_ = now + timing_.renew;
  ++member_.card().sign;
  struct Answer {
    Result<std::optional<std::string>> written{std::optional<std::string>()};
    std::optional<StoredCard> found;  // the object, if it was not written
  };
  const auto answer = std::make_shared<Answer>();
  const bool last_words = HasLastWords();
  errands_.Send(
      ErrandKind::kSign,
      [&books = books_, card = member_.card(), known = version_, looked = looked_, answer] {
        if (looked) answer->written = books.WriteCard(card, known);
        if (looked && answer->written.ok() && *answer->written) return;
        // Another start's card, or an own one whose answer was lost: the object tells.
        Result<std::optional<StoredCard>> found = books.ReadCard(card.host);
        if (!found.ok()) {
          answer->written = std::move(found).status();
          return;
        }
        answer->found = std::move(*found);
        answer->written = std::optional<std::string>();
      },
      [this, began = now, last_words, answer] {
        signing_ = false;
        if (!answer->written.ok()) {
          Say(StrCat("the sign of life of this host cannot be written: ",
                     answer->written.status().message()));
          sign_at_ = now_ + kRetry;
          return;
        }
        if (*answer->written) {
          version_ = **answer->written;
          member_.Renewed(began);
          told_ = last_words;
          if (HasLastWords() && !last_words) sign_at_ = now_;
          return;
        }
        const bool own = answer->found && answer->found->card.nonce == member_.card().nonce;
        const bool nobodys = !answer->found || answer->found->card.nonce.empty();
        if (looked_ && !own && !nobodys) member_.Superseded();
        version_ = answer->found ? answer->found->version : std::string();
        looked_ = true;
        sign_at_ = now_;
      });
}

void SliceLoop::Read(Time now) {
  if (reading_ || now < read_at_) return;
  reading_ = true;
  read_at_ = now + timing_.poll;
  const auto reading = std::make_shared<Reading>();
  const bool leads = member_.leads();
  errands_.Send(
      ErrandKind::kRead,
      [&books = books_, leads, hosts = member_.card().hosts, from = newest_, reading] {
        const auto note = [&](const Status& status) {
          if (!status.ok() && reading->failure.ok()) reading->failure = status;
          return status.ok();
        };
        for (int host = leads ? 1 : 0; host < (leads ? hosts : 1); ++host) {
          Result<std::optional<StoredCard>> card = books.ReadCard(host);
          if (note(card.status()) && *card) reading->cards.emplace(host, std::move((*card)->card));
        }
        Result<std::optional<AttemptRecord>> newest = NewestAttempt(books, std::max<std::int64_t>(from, 1));
        reading->attempt_read = note(newest.status());
        if (newest.ok()) reading->attempt = std::move(*newest);
        if (reading->attempt) {
          const Result<bool> ended = books.HasEnd(reading->attempt->number);
          reading->attempt_read = note(ended.status());
          reading->attempt_ended = ended.ok() && *ended;
        }
        if (leads) {
          const Result<std::int64_t> marker = books.NewestMarker();
          if (marker.status().code() == Code::kDataLoss)
            reading->damage = marker.status();
          else if (note(marker.status()))
            reading->marker = *marker;
        } else {
          const Result<bool> published = books.IsPublished();
          reading->published = note(published.status()) && *published;
        }
      },
      [this, reading] {
        reading_ = false;
        if (!reading->failure.ok()) {
          Say(StrCat("the objects of the other hosts cannot be read: ", reading->failure.message()));
          read_at_ = now_ + kRetry;
        }
        TakeReading(*reading, now_);
      });
}

void SliceLoop::Search(Time now) {
  if (searching_) return;
  const std::set<int> missing = leader_->MissingHosts(now);
  if (leader_->attempt() || missing.empty() || member_.card().over) {
    // A wait begins without the knowledge of the wait before it.
    recipes_.Listed({});
    leader_->FoundElsewhere({});
    search_at_ = now + kSearchAfter;
    list_at_ = now;
    return;
  }
  leader_->FoundElsewhere(recipes_.Living(missing, now));
  if (now < search_at_) return;
  searching_ = true;
  search_at_ = now + kSearchEvery;
  struct Answer {
    std::optional<std::vector<OtherCardName>> listed;
    std::vector<std::pair<OtherCardName, std::optional<HostCard>>> cards;
    Status failure;
  };
  const auto answer = std::make_shared<Answer>();
  const bool lists = now >= list_at_;
  errands_.Send(
      ErrandKind::kSearch,
      [&books = books_, lists, names = lists ? std::vector<OtherCardName>() : recipes_.ToRead(missing),
       answer, closing = closing_] {
        if (lists) {
          Result<std::vector<OtherCardName>> listed = books.ListOtherCards();
          answer->failure = listed.status();
          if (listed.ok()) answer->listed = std::move(*listed);
          return;
        }
        for (const OtherCardName& name : names) {
          if (*closing) return;
          Result<std::optional<HostCard>> card = books.ReadOtherCard(name);
          answer->failure = card.status();
          if (!card.ok()) return;
          answer->cards.emplace_back(name, std::move(*card));
        }
      },
      [this, lists, answer] {
        searching_ = false;
        if (!answer->failure.ok())
          return Say(StrCat("the hosts of other recipes cannot be looked for: ", answer->failure.message()));
        if (answer->listed) {
          recipes_.Listed(*answer->listed);
          list_at_ = now_ + kListEvery;
          search_at_ = now_;
        }
        for (const auto& [name, card] : answer->cards) recipes_.Saw(name, card, now_);
      });
}

void SliceLoop::TakeReading(const Reading& reading, Time now) {
  // The leader knows its own attempts, and their ends, before it can read them.
  if (reading.attempt_read && reading.attempt && (!leader_ || reading.attempt->number > newest_)) {
    newest_ = reading.attempt->number;
    member_.SawAttempt(reading.attempt, reading.attempt_ended);
  }
  if (!leader_) {
    const auto card = reading.cards.find(0);
    member_.SawLeader(card == reading.cards.end() ? std::nullopt : std::optional(card->second), now);
    if (reading.published) member_.SawPublished();
    return;
  }
  leader_->SawNewest(newest_);
  for (int host = 1; host < member_.card().hosts; ++host) {
    const auto card = reading.cards.find(host);
    leader_->Saw(host, card == reading.cards.end() ? std::nullopt : std::optional(card->second), now);
  }
  if (reading.marker && trainer_.Ready()) leader_->Marked(*reading.marker);
  if (!reading.damage.ok() && !member_.card().over) FinishAs(Failed(reading.damage));
}

std::optional<TrainingEnd> SliceLoop::Obey(Time now) {
  MemberStep step = member_.Next(now);
  switch (step.kind) {
    case MemberStep::Kind::kNothing: break;
    case MemberStep::Kind::kStart:
      Say(StrCat("attempt ", step.attempt.number, " of ", member_.card().hosts, " hosts begins",
                 step.attempt.step >= 0 ? StrCat(" at step ", step.attempt.step) : std::string()));
      member_.Started();
      trainer_.Start(step.attempt);
      sign_at_ = now;
      break;
    case MemberStep::Kind::kKill:
      if (!killed_.empty()) break;
      killed_ = step.why;
      Say(StrCat("the trainer is ended: ", step.why));
      trainer_.Kill();
      break;
    case MemberStep::Kind::kFinish:
      // The leader has the saved checkpoint marked, if this host's last card lists it.
      if (!farewell_at_) farewell_at_ = now;
      if (member_.card().leaves && !told_ && member_.MayWrite(now) && now - *farewell_at_ <= kFarewell) break;
      return std::move(step.end);
  }
  return {};
}

void SliceLoop::Lead(Time now) {
  if (member_.card().over) return;
  // Nobody can be told, and nothing be written.
  if (member_.card().leaves && !member_.trains() && !member_.MayWrite(now))
    return FinishAs(
        {.outcome = TrainingOutcome::kStopped, .code = Code::kCancelled, .message = "host 0 was stopped"});
  if (writing_ || !member_.MayWrite(now)) return;
  if (unwritten_ && now >= write_at_ && !member_.card().leaves)
    return WriteEnd(*std::exchange(unwritten_, std::nullopt));
  if (const std::optional<LocalCheckpoint> send = leader_->ToSend(member_.card())) member_.card().send = send;
  if (all_done_ && Publish(now)) return;
  const LeaderStep step = leader_->Next(member_.card(), now);
  switch (step.kind) {
    case LeaderStep::Kind::kNothing:
      if (leader_->attempt()) break;
      if (const std::string missing = leader_->Missing(now); !missing.empty())
        Say(StrCat("waiting for a sign of life of ", missing));
      else if (const std::string trains = leader_->StillTrain(member_.card()); !trains.empty())
        Say(StrCat("waiting for the end of the trainer on ", trains));
      break;
    case LeaderStep::Kind::kBegin: Begin(step.attempt); break;
    case LeaderStep::Kind::kEnd: End(step, now); break;
    case LeaderStep::Kind::kAllDone:
      if (!all_done_) all_done_ = now;
      break;
    case LeaderStep::Kind::kFail: FinishAs(step.over); break;
  }
}

bool SliceLoop::Publish(Time now) {
  // From here on the other hosts are not needed: one that is lost costs no further attempt.
  publishes_ = publishes_ || trainer_.MayPublish();
  if (publishes_) {
    if (std::optional<TrainingEnd> over = trainer_.Publish()) FinishAs(std::move(*over));
    return true;
  }
  if (now - *all_done_ <= timing_.hosts_wait) return false;
  FinishAs(Failed(
      Status(Code::kUnavailable,
             StrCat("all steps are done, and the last checkpoint is not whole after ",
                    WholeSeconds(now - *all_done_) / 60,
                    " min: a host cannot send its part, and its output says why; mend that, and start the "
                    "same command on every host again"))));
  return true;
}

void SliceLoop::Begin(AttemptRecord attempt) {
  trainer_.Complete(attempt);
  writing_ = true;
  const auto created = std::make_shared<Result<bool>>(false);
  errands_.Send(
      ErrandKind::kWrite, [&books = books_, attempt, created] { *created = books.CreateAttempt(attempt); },
      [this, attempt, created] {
        writing_ = false;
        if (!created->ok())
          return Say(StrCat("the attempt cannot be written: ", created->status().message()));
        // If there is one already: another leader's, or an own one whose answer was lost. The next reading
        // tells its number.
        read_at_ = now_;
        if (!**created) return;
        newest_ = attempt.number;
        leader_->Begun(attempt, now_);
        member_.SawAttempt(attempt, false);
      });
}

void SliceLoop::End(const LeaderStep& step, Time now) {
  Time wait{0};
  if (step.end.lost.empty()) {
    const RestartDecision decision = trainer_.Advise(step.decided);
    if (decision.kind != RestartDecision::Kind::kAgain)
      return FinishAs(Failed(Status(decision.code, decision.why)));
    wait = decision.wait;
  }
  all_done_.reset();
  Say(StrCat("attempt ", step.end.number, " ended: ", step.end.reason));
  // The own trainer ends now, whenever the object can be written.
  member_.SawAttempt(leader_->attempt(), true);
  leader_->Closed(now, wait);
  WriteEnd(step.end);
}

void SliceLoop::WriteEnd(AttemptEndRecord end) {
  writing_ = true;
  const auto created = std::make_shared<Result<bool>>(false);
  errands_.Send(
      ErrandKind::kWrite, [&books = books_, end, created] { *created = books.CreateEnd(end); },
      [this, end, created] {
        writing_ = false;
        if (created->ok()) return;
        // The trainers of the others run until they read it.
        Say(StrCat("the end of the attempt cannot be written: ", created->status().message()));
        unwritten_ = end;
        write_at_ = now_ + kRetry;
      });
}

void SliceLoop::FinishAs(TrainingEnd over) {
  if (member_.trains()) trainer_.Kill();
  member_.card().over = std::move(over);
  over_at_ = now_;
  told_ = false;
  sign_at_ = now_;
}

}  // namespace pipeline
