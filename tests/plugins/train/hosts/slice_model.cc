#include "tests/plugins/train/hosts/slice_model.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/str.h"

namespace pipeline {

namespace {

constexpr int kNoAnswer = 20;    // a request without an answer fails after so long
constexpr int kLeaseEvery = 15;  // dag/location/lease.md
constexpr int kLeaseWatch = 60;
constexpr int kBySlice = 10;  // the signal of a trainer that its host has ended
constexpr int kStride = 15;   // between two checkpoints

}  // namespace

/// The bucket as a host sees it.
class SliceModel::Bucket final : public SliceBooks {
 public:
  explicit Bucket(SliceModel& model) : model_(model) {}

  Result<std::optional<StoredCard>> ReadCard(int host) override {
    if (model_.unreachable_) return Unreachable();
    const auto found = model_.cards_.find(host);
    if (found == model_.cards_.end()) return std::optional<StoredCard>();
    return std::optional(StoredCard{found->second.value, StrCat(found->second.version)});
  }
  Result<std::optional<std::string>> WriteCard(const HostCard& card, const std::string& known) override {
    if (model_.unreachable_) return Unreachable();
    Stored<HostCard>& stored = model_.cards_[card.host];
    if ((stored.version == 0 ? std::string() : StrCat(stored.version)) != known)
      return std::optional<std::string>();
    stored = {card, ++model_.versions_};
    model_.signed_[static_cast<std::size_t>(card.host)] = model_.now_;
    return std::optional<std::string>(StrCat(stored.version));
  }
  Result<std::optional<AttemptRecord>> ReadAttempt(std::int64_t number) override {
    if (model_.unreachable_) return Unreachable();
    const auto found = model_.attempts_.find(number);
    return found == model_.attempts_.end() ? std::optional<AttemptRecord>() : std::optional(found->second);
  }
  Result<bool> HasEnd(std::int64_t number) override {
    if (model_.unreachable_) return Unreachable();
    return model_.ends_.contains(number);
  }
  Result<bool> CreateAttempt(const AttemptRecord& attempt) override {
    if (model_.unreachable_) return Unreachable();
    return model_.attempts_.emplace(attempt.number, attempt).second;
  }
  Result<bool> CreateEnd(const AttemptEndRecord& end) override {
    if (model_.unreachable_) return Unreachable();
    return model_.ends_.insert(end.number).second;
  }
  Result<bool> IsPublished() override {
    if (model_.unreachable_) return Unreachable();
    return model_.published_;
  }
  Result<std::int64_t> NewestMarker() override {
    if (model_.unreachable_) return Unreachable();
    return model_.markers_.empty() ? -1 : model_.markers_.rbegin()->first;
  }
  Result<std::vector<OtherCardName>> ListOtherCards() override { return std::vector<OtherCardName>(); }
  Result<std::optional<HostCard>> ReadOtherCard(const OtherCardName&) override {
    return std::optional<HostCard>();
  }

 private:
  static Status Unreachable() { return Status(Code::kUnavailable, "the bucket does not answer"); }
  SliceModel& model_;
};

/// The trainer of one host.
class SliceModel::Trainer final : public SliceTrainer {
 public:
  Trainer(SliceModel& model, std::shared_ptr<Disk> disk, int host)
      : model_(model), disk_(std::move(disk)), host_(host) {}

  void Start(const AttemptRecord& accepted) override {
    const std::int64_t from = accepted.step;
    std::erase_if(*disk_, [&](const LocalCheckpoint& one) { return one.step > from; });
    const bool here = std::any_of(disk_->begin(), disk_->end(),
                                  [&](const LocalCheckpoint& one) { return one.step == from; });
    if (accepted.local && !here) model_.Break(StrCat("host ", host_, " has no part of step ", from));
    if (!accepted.local && from >= 0) {
      if (!model_.markers_.contains(from)) model_.Break(StrCat("there is no marker of step ", from));
      std::erase_if(*disk_, [&](const LocalCheckpoint& one) { return one.step == from; });
      disk_->push_back({from, model_.markers_[from], {}});
    }
    if (attempt != 0) model_.Break(StrCat("host ", host_, " has two trainers"));
    attempt = accepted.number;
    step = from;
    ready_at = model_.now_ + model_.Random(5, 25);
    kill_at = fails_at = -1;
    stops = false;
  }
  void Stop() override { stops = true; }
  void Kill() override { Kill(kBySlice); }
  void Kill(int by) {
    if (attempt == 0 || kill_at >= 0) return;
    kill_at = model_.now_;
    kill_signal = by;
  }
  std::optional<TrainerEnd> TakeEnd() override { return std::exchange(end_, std::nullopt); }
  std::vector<LocalCheckpoint> Local() override { return *disk_; }
  void Send(const LocalCheckpoint& checkpoint) override { asked = checkpoint; }
  void Complete(AttemptRecord& made) override { made.coordinator = StrCat("host0:", model_.now_); }
  RestartDecision Advise(const TrainerEnd& end) override {
    if (end.signal == kBySlice) model_.Break("a host that was cut off counts as a failure of its trainer");
    return {.kind = RestartDecision::Kind::kAgain, .wait = std::chrono::seconds(1), .code = {}, .why = {}};
  }
  bool MayPublish() override { return model_.markers_.contains(model_.options_.steps); }
  std::optional<TrainingEnd> Publish() override {
    model_.published_ = true;
    return TrainingEnd{};
  }

  void End(int code, int signal) {
    TrainerEnd end;
    end.code = code;
    end.signal = signal;
    end.cause = "it ended";
    end_ = end;
    model_.exits_[attempt].push_back({.host = host_, .code = code, .signal = signal, .step = step});
    attempt = 0;
  }
  /// Commits a checkpoint.
  void Save() {
    disk_->push_back({++step, attempt, {}});
    if (disk_->size() > 3) disk_->erase(disk_->begin());
  }
  bool Has(const LocalCheckpoint& wanted) const {
    return std::any_of(disk_->begin(), disk_->end(), [&](const LocalCheckpoint& one) {
      return one.step == wanted.step && one.attempt == wanted.attempt;
    });
  }

  std::int64_t attempt = 0;  // 0: none runs
  std::int64_t step = -1;
  int ready_at = 0;  // it has joined the others and compiled
  int kill_at = -1;  // -1: nobody kills it
  int kill_signal = 0;
  int fails_at = -1;  // when it notices that a peer is gone; -1: it has not noticed
  bool stops = false;
  std::optional<LocalCheckpoint> asked;  // to be sent

 private:
  SliceModel& model_;
  const std::shared_ptr<Disk> disk_;
  const int host_;
  std::optional<TrainerEnd> end_;
};

/// One start of the program.
struct SliceModel::Start final : public Errands {
  Start(SliceModel& model, HostCard own)
      : model_(model),
        card(std::move(own)),
        trainer(model, model.disks_[static_cast<std::size_t>(card.host)], card.host) {}

  void Send(ErrandKind kind, std::function<void()> work, std::function<void()> done) override {
    auto& lane = lanes[static_cast<std::size_t>(kind)];
    if (lane) model_.Break("two errands of one kind");
    lane = model_.Ask(*this, model_.options_.slowest_s, std::move(work), std::move(done));
    // The program confirms its lease right before such a write.
    if (kind == ErrandKind::kWrite && !model_.HoldsLease(*this)) lane->arrives = lane->is_answered = false;
  }

  SliceModel& model_;
  HostCard card;
  Trainer trainer;
  std::optional<SliceLoop> loop;  // on host 0: once it has the lease
  std::array<std::optional<Request>, kLease + 1> lanes;
  int clock_ahead = 0, frozen_until = 0, cut_until = 0;
  bool is_deaf = false, is_stopped = false;
  int lease_at = 0, lease_seen = 0, lease_good = 0;
  std::int64_t lease_version = -1;  // -1: not looked yet
  std::optional<TrainingEnd> finished;
};

SliceModel::SliceModel(const SliceOptions& options, std::uint64_t seed)
    : options_(options),
      random_(seed),
      bucket_(std::make_unique<Bucket>(*this)),
      done_(static_cast<std::size_t>(options.hosts)),
      signed_(static_cast<std::size_t>(options.hosts)) {
  for (int host = 0; host < options.hosts; ++host) {
    disks_.push_back(std::make_shared<Disk>());
    planned_.emplace(Random(0, 20), host);
  }
}

SliceModel::~SliceModel() = default;

int SliceModel::Random(int least, int most) {
  return least + static_cast<int>(random_() % static_cast<std::uint64_t>(most - least + 1));
}

void SliceModel::Break(std::string what) { broken_.push_back(StrCat("at ", now_, " s: ", what)); }

void SliceModel::Begin(int host) {
  HostCard card;
  card.host = host;
  card.hosts = options_.hosts;
  card.nonce = StrCat("n", ++nonces_);
  done_[static_cast<std::size_t>(host)] = false;
  starts_.push_back(std::make_unique<Start>(*this, std::move(card)));
  starts_.back()->lease_at = now_;
  starts_.back()->clock_ahead = Random(-20'000, 20'000);
}

SliceModel::Time SliceModel::Clock(const Start& start) const {
  return std::chrono::seconds(now_ + start.clock_ahead);
}

void SliceModel::Die(std::size_t at) {
  for (std::optional<Request>& request : starts_[at]->lanes)
    if (request && !request->was_done && request->arrives) late_.push_back(std::move(*request));
  starts_.erase(starts_.begin() + static_cast<std::ptrdiff_t>(at));
}

SliceModel::Start* SliceModel::Newest(int host) {
  for (std::size_t at = starts_.size(); at-- > 0;)
    if (starts_[at]->card.host == host) return starts_[at].get();
  return nullptr;
}

void SliceModel::Hit(Fault fault, int host, int seconds) {
  Start* const start = Newest(host);
  if (fault == Fault::kSlow) slow_until_ = now_ + seconds;
  if (start == nullptr) return;
  const auto number = static_cast<std::size_t>(host);
  const auto at = static_cast<std::size_t>(
      std::find_if(starts_.begin(), starts_.end(), [&](const auto& one) { return one.get() == start; }) -
      starts_.begin());
  switch (fault) {
    case Fault::kReplace: disks_[number] = std::make_shared<Disk>(); [[fallthrough]];
    case Fault::kKill:
      planned_.emplace(now_ + seconds, host);
      Die(at);
      break;
    case Fault::kFreeze: start->frozen_until = now_ + seconds; break;
    case Fault::kCut:
    case Fault::kDeaf:
      start->cut_until = now_ + seconds;
      start->is_deaf = fault == Fault::kDeaf;
      break;
    case Fault::kKillTrainer: start->trainer.Kill(9); break;
    case Fault::kStop:
      start->is_stopped = true;
      planned_.emplace(now_ + 150 + seconds, host);
      break;
    case Fault::kTwice:
      start->frozen_until = now_ + seconds;
      disks_[number] = std::make_shared<Disk>();
      planned_.emplace(now_ + Random(1, seconds + 60), host);
      break;
    case Fault::kSlow:
    case Fault::kCount: break;
  }
}

SliceModel::Request SliceModel::Ask(const Start& start, int latency, std::function<void()> work,
                                    std::function<void()> done) {
  const int slowest = now_ < slow_until_ ? 25 : latency;
  Request request;
  request.effect_at = now_ + Random(0, slowest);
  request.answer_at = request.effect_at + Random(0, std::max(slowest / 2, 1));
  if (now_ < start.cut_until) request.arrives = start.is_deaf && Random(0, 3) == 0;
  if (now_ < start.cut_until || request.answer_at > now_ + kNoAnswer) {
    request.answer_at = now_ + kNoAnswer;
    request.is_answered = false;
  }
  request.work = std::move(work);
  request.done = std::move(done);
  return request;
}

void SliceModel::Serve(Start& start) {
  for (std::optional<Request>& lane : start.lanes) {
    if (!lane) continue;
    if (!lane->was_done && lane->arrives && now_ >= lane->effect_at) {
      lane->was_done = true;
      lane->work();
    }
    if (now_ < lane->answer_at || now_ < start.frozen_until) continue;
    Request request = std::move(*lane);
    lane.reset();
    if (!request.is_answered) {
      unreachable_ = true;
      request.work();
      unreachable_ = false;
    }
    request.done();
  }
}

void SliceModel::TakeLease(Start& start) {
  start.lease_at = now_ + (start.loop ? kLeaseEvery : 3);
  const bool takes = start.loop || start.lease_version == 0 ||
                     (start.lease_version > 0 && now_ - start.lease_seen > kLeaseWatch);
  struct Answer {
    bool holds = false, reached = false, changed = false;
    std::int64_t version = 0;
  };
  const auto answer = std::make_shared<Answer>();
  start.lanes[kLease] = Ask(
      start, options_.slowest_s,
      [this, nonce = start.card.nonce, takes, known = start.lease_version, answer] {
        answer->reached = !unreachable_;
        if (unreachable_) return;
        answer->changed = takes && lease_.version == known;
        if (answer->changed) lease_ = {nonce, ++versions_};
        answer->holds = lease_.value == nonce;
        answer->version = lease_.version;
      },
      [this, &start, answer, began = now_] {
        if (!answer->reached) {
          start.lease_at = now_ + 1;
        } else if (answer->holds && !answer->changed) {
          start.lease_version =
              answer->version;  // an earlier change, whose answer was lost, confirms nothing now
          start.lease_at = now_;
        } else if (answer->holds) {
          start.lease_version = answer->version;
          start.lease_good = began;
          if (!start.loop && published_)
            start.finished = TrainingEnd{};  // the job finds the result before anything else
          else if (!start.loop)
            start.loop.emplace(
                start.card, HostTiming{}, *bucket_, start.trainer, start, [](std::string_view) {},
                Clock(start));
        } else if (start.loop) {
          start.finished = TrainingEnd{
              .outcome = TrainingOutcome::kFailed, .code = Code::kUnavailable, .message = "lease"};
        } else if (answer->version != start.lease_version) {
          start.lease_version = answer->version;
          start.lease_seen = now_;
        }
      });
}

bool SliceModel::HoldsLease(const Start& start) const {
  return start.card.host == 0 && start.loop && !start.finished && now_ - start.lease_good <= 2 * kLeaseEvery;
}

void SliceModel::SendPart(Start& start) {
  if (start.lanes[kParts] || !start.trainer.asked || now_ < start.cut_until) return;
  const LocalCheckpoint send = *start.trainer.asked;
  const std::tuple<std::int64_t, std::int64_t, int> part{send.step, send.attempt, start.card.host};
  if (!start.trainer.Has(send)) return;
  if (records_.contains(part)) {
    if (start.card.host == 0) WriteMarker(start, send);
    return;
  }
  const bool is_sent = files_.contains(part);
  start.lanes[kParts] = Ask(
      start, is_sent ? options_.slowest_s : 20,
      [this, part, is_sent] {
        if (unreachable_) return;
        if (is_sent && !files_.contains(part)) Break("a record of a part without its files");
        (is_sent ? records_ : files_).insert(part);
      },
      [] {});
}

void SliceModel::WriteMarker(Start& start, const LocalCheckpoint& send) {
  if (!HoldsLease(start) || markers_.contains(send.step)) return;
  for (int host = 0; host < options_.hosts; ++host)
    if (!records_.contains({send.step, send.attempt, host})) return;
  start.lanes[kParts] = Ask(
      start, options_.slowest_s,
      [this, send] {
        if (unreachable_) return;
        for (int host = 0; host < options_.hosts; ++host)
          if (!files_.contains({send.step, send.attempt, host}))
            Break(StrCat("the marker of step ", send.step, " lacks the part of host ", host));
        markers_.emplace(send.step, send.attempt);
      },
      [] {});
}

void SliceModel::Drive(Start& start) {
  if (now_ < start.frozen_until || start.finished) return;
  if (start.card.host == 0 && !start.lanes[kLease] && now_ >= start.lease_at) TakeLease(start);
  if (start.card.host != 0 && !start.loop)
    start.loop.emplace(
        start.card, HostTiming{}, *bucket_, start.trainer, start, [](std::string_view) {}, Clock(start));
  if (!start.loop) {
    if (start.is_stopped)
      start.finished =
          TrainingEnd{.outcome = TrainingOutcome::kStopped, .code = Code::kCancelled, .message = {}};
    return;
  }
  start.finished = start.loop->Tick(Clock(start), start.is_stopped);
  if (!start.finished) SendPart(start);
}

void SliceModel::TrainOne(Start& start, bool together, bool ready, bool stops) {
  Trainer& trainer = start.trainer;
  if (now_ < start.frozen_until) return;
  if (trainer.kill_at >= 0) return trainer.End(0, trainer.kill_signal);
  if (!together && trainer.fails_at < 0) trainer.fails_at = now_ + Random(20, 100);
  if (together) trainer.fails_at = -1;
  if (trainer.fails_at >= 0 && now_ >= trainer.fails_at) return trainer.End(Random(0, 1) ? 75 : 70, 0);
  if (!together || !ready) return;
  if (trainer.step >= options_.steps) return trainer.End(0, 0);  // another attempt took the last step
  if (!stops && (now_ + static_cast<int>(trainer.attempt)) % kStride != 0) return;
  trainer.Save();
  if (trainer.step >= options_.steps)
    trainer.End(0, 0);
  else if (stops)
    trainer.End(42, 0);
}

void SliceModel::Train() {
  std::map<std::int64_t, std::vector<Start*>> groups;
  for (const auto& start : starts_) {
    if (start->trainer.attempt == 0) continue;
    if (now_ >= start->frozen_until) last_trainer_[start->trainer.attempt] = now_;
    groups[start->trainer.attempt].push_back(start.get());
  }
  for (auto& [attempt, group] : groups) {
    const auto all = [&](const auto& holds) { return std::all_of(group.begin(), group.end(), holds); };
    const bool together = static_cast<int>(group.size()) == options_.hosts && all([&](const Start* start) {
                            return now_ >= start->frozen_until && now_ >= start->cut_until;
                          });
    const bool ready = all([&](const Start* start) { return now_ >= start->trainer.ready_at; });
    const bool stops = !all([](const Start* start) { return !start->trainer.stops; });
    for (Start* start : group) TrainOne(*start, together, ready, stops);
  }
}

void SliceModel::Tick() {
  ++now_;
  for (auto at = planned_.begin(); at != planned_.end() && at->first <= now_; at = planned_.erase(at))
    Begin(at->second);
  for (Request& request : late_)
    if (now_ >= request.effect_at && !request.was_done) request.was_done = true, request.work();
  std::erase_if(late_, [](const Request& late) { return late.was_done; });
  int leaders = 0;
  for (const auto& start : starts_) {
    Serve(*start);
    Drive(*start);
    leaders += now_ >= start->frozen_until && HoldsLease(*start);
  }
  if (leaders > 1) Break("two leaders");
  Train();
  for (std::size_t at = starts_.size(); at-- > 0;) {
    Start& start = *starts_[at];
    if (now_ < start.frozen_until || !start.finished) continue;
    if (start.trainer.attempt != 0) {
      start.trainer.Kill();
      continue;
    }
    const int host = start.card.host;
    const bool newest = Newest(host) == &start, done = start.finished->outcome == TrainingOutcome::kDone;
    if (newest) done_[static_cast<std::size_t>(host)] = done;
    // A supervisor starts it again, as users do.
    const bool planned =
        std::any_of(planned_.begin(), planned_.end(), [&](const auto& plan) { return plan.second == host; });
    if (newest && !done && !planned) planned_.emplace(now_ + 10, host);
    Die(at);
  }
}

bool SliceModel::Done() const {
  return planned_.empty() && std::all_of(done_.begin(), done_.end(), [](bool done) { return done; });
}

int SliceModel::LastTrainer(std::int64_t attempt) const {
  const auto found = last_trainer_.find(attempt);
  return found == last_trainer_.end() ? -1 : found->second;
}

std::vector<SliceModel::Exit> SliceModel::Exits(std::int64_t attempt) const {
  const auto found = exits_.find(attempt);
  return found == exits_.end() ? std::vector<Exit>() : found->second;
}

std::int64_t SliceModel::Training() const {
  std::map<std::int64_t, int> running;
  for (const auto& start : starts_)
    if (start->trainer.attempt != 0) ++running[start->trainer.attempt];
  for (const auto& [attempt, count] : running)
    if (count == options_.hosts) return attempt;
  return 0;
}

std::string SliceModel::Describe() const {
  std::string text = StrCat("at ", now_, " s: ", attempts_.size(), " attempts, ", ends_.size(), " ends, ",
                            markers_.size(), " markers, published ", published_ ? "yes" : "no", "\n");
  for (const auto& start : starts_)
    text += StrCat("  host ", start->card.host, " holds the lease ", HoldsLease(*start) ? "yes" : "no",
                   ", finished ", start->finished ? start->finished->message : "no", ", card ",
                   start->loop ? start->loop->member().card().Encode() : "none\n");
  for (const std::string& what : broken_) text += StrCat("  broken: ", what, "\n");
  return text;
}

}  // namespace pipeline
