#include "plugins/train/hosts/leader.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/str.h"

namespace pipeline {

namespace {

using LeaderKind = LeaderStep::Kind;

/// Exit codes of CONTRACT.md, section 6. The first ones are nobody else's fault; a trainer ends with the last
/// ones, or is killed, also because another host went away.
constexpr int kAborted = 128 + 6;  // by JAX, when the process with the coordinator is gone
constexpr std::array kRank = {64, 65, 78, 86, 70, 69, 76, 75, kAborted, 42, 0};

std::size_t Rank(const TrainerEnd& end) {
  if (end.fatal) return 0;
  const auto at = [](int code) {
    return static_cast<std::size_t>(std::find(kRank.begin(), kRank.end(), code) - kRank.begin());
  };
  const std::size_t rank = at(end.signal != 0 ? 128 + end.signal : end.code);
  // An external trainer that lost another one ends by itself, or aborts.
  if (end.again && end.signal != 0 && 128 + end.signal != kAborted) return at(70);
  return end.hung || end.again || rank == kRank.size() ? at(69) : rank;
}

LeaderStep Fail(Code code, std::string why) {
  LeaderStep step;
  step.kind = LeaderKind::kFail;
  step.over = Failed(Status(code, std::move(why)));
  return step;
}

LeaderStep Stopped() {
  LeaderStep step;
  step.kind = LeaderKind::kFail;
  step.over = {
      .outcome = TrainingOutcome::kStopped, .code = Code::kCancelled, .message = "host 0 was stopped"};
  return step;
}

}  // namespace

const TrainerEnd& Decisive(const std::map<int, TrainerEnd>& ends) {
  return std::min_element(ends.begin(), ends.end(),
                          [](const auto& a, const auto& b) { return Rank(a.second) < Rank(b.second); })
      ->second;
}

Leader::Leader(int hosts, const HostTiming& timing, Time now)
    : timing_(timing), since_(now), not_before_(now) {
  for (int host = 1; host < hosts; ++host) watches_.emplace_back(timing.given_up, now);
}

void Leader::Saw(int host, const std::optional<HostCard>& card, Time now) {
  watches_.at(static_cast<std::size_t>(host - 1)).Saw(card, now);
}

void Leader::Marked(std::int64_t step) {
  marked_ = step;
  knows_markers_ = true;
}

void Leader::Begun(const AttemptRecord& attempt, Time now) {
  attempt_ = attempt;
  since_ = now;
  number_ = attempt.number;
  marked_before_ = marked_;
  first_end_.reset();
}

void Leader::Closed(Time now, Time wait) {
  attempt_.reset();
  since_ = now;
  if (marked_ > marked_before_) losses_ = 0;
  Time backoff{0};
  if (losses_ > timing_.patient_losses) {
    backoff = timing_.first_backoff;
    for (int more = timing_.patient_losses + 1; more < losses_ && backoff < timing_.longest_backoff; ++more)
      backoff *= 2;
    backoff = std::min(backoff, timing_.longest_backoff);
  }
  not_before_ = now + std::max(wait, backoff);
}

std::string Leader::Name(int host) const {
  std::string name = StrCat("host ", host);
  if (host > 0)
    if (const auto& card = watches_[static_cast<std::size_t>(host - 1)].card();
        card && !card->address.empty())
      name += StrCat(" (", card->address, ")");
  return name;
}

bool Leader::OthersLeave() const {
  if (!attempt_) return false;
  for (std::size_t at = 0; at < watches_.size(); ++at)
    if (const auto& card = watches_[at].card();
        card && card->leaves && card->nonce == attempt_->nonces[at + 1])
      return true;
  return false;
}

bool Leader::OthersFetch(Time now) const {
  return std::any_of(watches_.begin(), watches_.end(),
                     [now](const SignWatch& watch) { return watch.Fresh(now) && watch.card()->fetches; });
}

std::string Leader::Missing(Time now) const {
  std::string names;
  for (const int host : MissingHosts(now)) {
    if (!names.empty()) names += ", ";
    if (const auto found = elsewhere_.find(host); found != elsewhere_.end())
      names += StrCat("host ", host, " (", found->second.address, found->second.address.empty() ? "" : ": ",
                      "it runs another recipe, ", found->second.run, ")");
    else
      names += Name(host);
  }
  return names;
}

std::string Leader::StillTrain(const HostCard& own) const {
  std::string names;
  const auto add = [&](const HostCard& card) {
    if (card.trains != 0)
      names += StrCat(names.empty() ? "" : ", ", Name(card.host), " (attempt ", card.trains, ")");
  };
  add(own);
  for (const SignWatch& watch : watches_)
    if (watch.card()) add(*watch.card());
  return names;
}

std::set<int> Leader::MissingHosts(Time now) const {
  std::set<int> hosts;
  for (std::size_t at = 0; at < watches_.size(); ++at)
    if (!watches_[at].Fresh(now)) hosts.insert(static_cast<int>(at) + 1);
  return hosts;
}

std::string Leader::Misfit(const HostCard& own, const HostCard& card) {
  if (card.hosts != own.hosts)
    return StrCat("says that there are ", card.hosts, " hosts, and host 0 says ", own.hosts);
  for (const auto& [name, digest] : own.digests) {
    const auto found = card.digests.find(name);
    if (found == card.digests.end() || found->second != digest)
      return StrCat("has another ", name, " than host 0");
  }
  return {};
}

LeaderStep Leader::Next(const HostCard& own, Time now) {
  return attempt_ ? Watch(own, now) : Await(own, now);
}

LeaderStep Leader::Await(const HostCard& own, Time now) const {
  if (own.leaves) return Stopped();
  bool ready = knows_markers_ && own.trains == 0 && now >= not_before_;
  for (std::size_t at = 0; at < watches_.size(); ++at) {
    const int host = static_cast<int>(at) + 1;
    if (!watches_[at].Fresh(now)) {
      ready = false;
      continue;
    }
    const HostCard& card = *watches_[at].card();
    if (const std::string why = Misfit(own, card); !why.empty())
      return Fail(
          Code::kInvalidArgument,
          StrCat(Name(host), " ", why, "; all hosts need the same program, file, keys and environment"));
    ready = ready && card.trains == 0 && !card.leaves;
  }
  if (!ready) {
    if (now - since_ <= timing_.hosts_wait) return {};
    const std::string missing = Missing(now), trains = StillTrain(own);
    if (missing.empty() && !trains.empty())
      return Fail(
          Code::kUnavailable,
          StrCat("the trainer has not ended for ", WholeSeconds(now - since_) / 60, " min on ", trains,
                 "; end it there, or start that machine anew, then start the same command on every host"));
    if (missing.empty()) return {};
    return Fail(Code::kUnavailable,
                StrCat("no sign of life from ", missing, " for ", WholeSeconds(now - since_) / 60,
                       " min; start the same command on every host, with the same file, keys and `out`"));
  }
  LeaderStep step;
  step.kind = LeaderKind::kBegin;
  step.attempt.number = number_ + 1;
  step.attempt.nonces.push_back(own.nonce);
  for (const SignWatch& watch : watches_) step.attempt.nonces.push_back(watch.card()->nonce);
  const std::optional<LocalCheckpoint> local = NewestEverywhere(own, std::max<std::int64_t>(marked_, 0));
  step.attempt.step = local ? local->step : marked_;
  step.attempt.local = local.has_value();
  return step;
}

std::optional<LocalCheckpoint> Leader::NewestEverywhere(const HostCard& own, std::int64_t least) const {
  std::optional<LocalCheckpoint> newest;
  for (const LocalCheckpoint& one : own.local) {
    if (one.step < (newest ? newest->step + 1 : least)) continue;
    const bool everywhere = std::all_of(watches_.begin(), watches_.end(), [&](const SignWatch& watch) {
      if (!watch.card()) return false;
      const std::vector<LocalCheckpoint>& local = watch.card()->local;
      return std::any_of(local.begin(), local.end(), [&](const LocalCheckpoint& other) {
        return other.step == one.step && other.attempt == one.attempt;
      });
    });
    if (everywhere) newest = LocalCheckpoint{.step = one.step, .attempt = one.attempt, .part = {}};
  }
  return newest;
}

std::optional<LocalCheckpoint> Leader::ToSend(const HostCard& own) const {
  return NewestEverywhere(own, marked_ + 1);
}

bool Leader::Accepted(const HostCard& card) const {
  return card.trains == attempt_->number || (card.ended && card.ended->attempt == attempt_->number);
}

std::string Leader::Lost(const SignWatch& watch, std::size_t host, Time now) const {
  const HostCard& card = *watch.card();
  if (card.nonce != attempt_->nonces[host]) return " was started again";
  // It has saved and gone; the others may still save.
  if (card.leaves && card.ended && card.ended->attempt == attempt_->number) return {};
  if (watch.SilentFor(now) > timing_.given_up)
    return StrCat(" gave no sign of life for ", WholeSeconds(watch.SilentFor(now)), " s");
  if (Accepted(card)) return {};
  if (card.leaves) return " was stopped";
  if (now - since_ > timing_.start_limit)
    return StrCat(" lives, and has not begun attempt ", attempt_->number, " for ", WholeSeconds(now - since_),
                  " s");
  return {};
}

LeaderStep Leader::Watch(const HostCard& own, Time now) {
  if (own.leaves && !Accepted(own)) return Stopped();  // its trainer starts no more
  std::vector<int> lost, left;
  std::string reason;
  std::map<int, TrainerEnd> ends;
  const auto lose = [&](int host, std::string_view why) {
    lost.push_back(host);
    reason += StrCat(reason.empty() ? "" : "; ", Name(host), why);
  };
  const auto take = [&](const HostCard& card) {
    const bool has_ended = card.ended && card.ended->attempt == attempt_->number;
    if (has_ended && card.ended->lost)
      return lose(card.host, StrCat(" ended its trainer: ", card.ended->cause));
    if (has_ended) ends.emplace(card.host, *card.ended);
    if (card.leaves) left.push_back(card.host);
  };
  take(own);
  for (std::size_t at = 0; at < watches_.size(); ++at) {
    const int host = static_cast<int>(at) + 1;
    const SignWatch& watch = watches_[at];
    if (const std::string why = Lost(watch, at + 1, now); !why.empty()) {
      lose(host, why);
      continue;
    }
    take(*watch.card());
  }
  if (!lost.empty()) {
    ++losses_;
    return End(std::move(lost), std::move(reason), {});
  }
  if (ends.empty() && left.empty()) return {};
  if (!first_end_) first_end_ = now;
  const bool all = ends.size() == watches_.size() + 1;
  // After a stop the trainers save together; a large checkpoint takes longer than the end of a lost host.
  if (!all && now - *first_end_ <= (left.empty() ? timing_.decide : timing_.save)) return {};
  if (own.leaves) return Stopped();
  if (!left.empty()) {
    ++losses_;
    reason = StrCat(Name(left.front()), " was stopped");
    return End(std::move(left), std::move(reason), {});
  }
  const TrainerEnd& decided = Decisive(ends);
  if (decided.good()) {
    // Those that have not ended yet still write; their watchdogs bound the time.
    if (!all) return {};
    LeaderStep step;
    step.kind = LeaderKind::kAllDone;
    return step;
  }
  return End({}, decided.cause, decided);
}

LeaderStep Leader::End(std::vector<int> lost, std::string reason, TrainerEnd decided) const {
  LeaderStep step;
  step.kind = LeaderKind::kEnd;
  step.end = {.number = attempt_->number, .lost = std::move(lost), .reason = std::move(reason)};
  step.decided = std::move(decided);
  return step;
}

}  // namespace pipeline
