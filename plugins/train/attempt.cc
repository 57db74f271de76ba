#include "plugins/train/attempt.h"

#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/str.h"

namespace pipeline {

namespace {

constexpr int kPollMs = 50;               // how late a stop, an end or a limit may be seen
constexpr std::chrono::seconds kDump{5};  // from SIGQUIT to SIGTERM

std::string WorkerName(std::size_t index, std::size_t count) {
  return count == 1 ? std::string("the trainer") : StrCat("worker ", index, " of the trainer");
}

}  // namespace

Attempt::Attempt(const AttemptPlan& plan, const PluginServices& call, Hear hear)
    : plan_(plan), call_(call), hear_(std::move(hear)), grace_(plan.grace.value_or(kLeastGrace)) {}

Result<TrainerEnd> Attempt::Run() {
  for (const TrainerCommand& command : plan_.commands) {
    Worker& worker = workers_.emplace_back();
    ASSIGN_OR_RETURN(worker.process, TrainerProcess::Start(command));
    worker.id = worker.process->id();
    call_.event(Json::Object{{"kind", "process"}, {"pid", worker.id}});
    const Time now = SystemClock().Monotonic();
    worker.watchdog = std::make_unique<Watchdog>(
        plan_.source != nullptr ? Watchdog::ForSilence(plan_.silence, now) : Watchdog(plan_.patience, now));
  }
  while (running()) {
    Listen();
    for (std::size_t at = 0; at < workers_.size(); ++at)
      if (!workers_[at].ended && workers_[at].process->HasEnded()) Reap(at);
    Escalate(SystemClock().Monotonic());
  }
  TrainerEnd end;
  const ChildExit& exit = workers_[decided_].exit;
  end.code = exit.code;
  end.signal = exit.signal;
  end.hung = !hung_.empty() && !stopped_;
  end.stopped = stopped_;
  end.cause = end.hung ? hung_ : StrCat(WorkerName(decided_, workers_.size()), " ", exit.Describe());
  return end;
}

bool Attempt::running() const {
  return std::any_of(workers_.begin(), workers_.end(), [](const Worker& worker) { return !worker.ended; });
}

TrainerProcess::Take Attempt::TakeFrom(Worker& worker) const {
  return [this, &worker](const Json& event) {
    worker.watchdog->Hear(event, SystemClock().Monotonic());
    hear_(event);
  };
}

void Attempt::Listen() {
  std::vector<pollfd> channels;
  for (const Worker& worker : workers_)
    if (!worker.ended && worker.process->channel() >= 0)
      channels.push_back({worker.process->channel(), POLLIN, 0});
  poll(channels.data(), channels.size(), kPollMs);
  for (Worker& worker : workers_)
    if (!worker.ended) worker.process->ReadEvents(TakeFrom(worker));
  if (plan_.source != nullptr && !workers_.front().ended) plan_.source->Poll(TakeFrom(workers_.front()));
}

void Attempt::Reap(std::size_t index) {
  Worker& worker = workers_[index];
  const Result<ChildExit> exit = worker.process->Finish(TakeFrom(worker));
  worker.ended = true;
  Json ended = Json::Object{{"kind", "process"}, {"pid", worker.id}, {"ended", true}};
  if (exit.ok()) {
    ended["cpu"] = exit->use.cpu;
    ended["read"] = exit->use.read;
    ended["written"] = exit->use.written;
  }
  call_.event(ended);
  worker.exit = exit.ok() ? *exit : ChildExit{.code = 70, .signal = 0};
  if (plan_.source != nullptr) plan_.source->Ended(worker.exit, TakeFrom(worker));
  // The process that failed first is the cause. The others failed because it ended.
  if (!has_decided_ && !worker.exit.ok()) has_decided_ = true, decided_ = index;
  if (stage_ != Stage::kRunning || !running()) return;
  // After an end, failed or done, the other processes cannot continue without this one.
  if (worker.exit.ok()) return;
  stage_ = Stage::kEnding;
  since_ = SystemClock().Monotonic();
  SignalAll(SIGTERM);
}

void Attempt::Escalate(Time now) {
  const auto enter = [&](Stage stage, int signal) {
    stage_ = stage;
    since_ = now;
    SignalAll(signal);
  };
  if (!running()) return;
  const Wish wish = plan_.wish();
  if (wish == Wish::kKill && stage_ != Stage::kKilled) enter(Stage::kKilled, SIGKILL);
  if (!stopped_ && wish == Wish::kStop && stage_ != Stage::kKilled) {
    stopped_ = true;
    // One that is being ended because it failed gets no longer.
    if (stage_ == Stage::kRunning) TakeGrace(now);
    enter(Stage::kEnding, SIGTERM);
  }
  if (stage_ == Stage::kRunning) {
    if (plan_.excused())
      for (Worker& worker : workers_) worker.watchdog->Excuse(now);
    for (std::size_t at = 0; at < workers_.size() && hung_.empty(); ++at) {
      if (workers_[at].ended) continue;
      const std::optional<std::string> why = workers_[at].watchdog->Hangs(now);
      if (!why) continue;
      hung_ = StrCat(WorkerName(at, workers_.size()), " ", *why);
      has_decided_ = true;
      decided_ = at;
      call_.log(Level::kWarning,
                StrCat(hung_, "; it is ended (see ", workers_[at].process->log().path(), ")"));
    }
    // An unknown program need not write its stacks after SIGQUIT.
    if (!hung_.empty() && plan_.source != nullptr)
      enter(Stage::kEnding, SIGTERM);
    else if (!hung_.empty())
      enter(Stage::kDumping, SIGQUIT);
  } else if (stage_ == Stage::kDumping) {
    const auto dump =
        Time(static_cast<std::int64_t>(plan_.patience * static_cast<double>(Time(kDump).count())));
    if (now - since_ > std::max<Time>(dump, std::chrono::milliseconds(100))) enter(Stage::kEnding, SIGTERM);
  } else if (stage_ == Stage::kEnding && now - since_ > grace_) {
    enter(Stage::kKilled, SIGKILL);
  }
}

void Attempt::TakeGrace(Time now) {
  const auto seconds = [](Time time) {
    return std::chrono::duration_cast<std::chrono::seconds>(time + std::chrono::milliseconds(999)).count();
  };
  std::string why = "`grace`";
  for (const Worker& worker : workers_) {
    if (plan_.grace || worker.watchdog->Grace(now) <= grace_) continue;
    grace_ = worker.watchdog->Grace(now);
    why = StrCat("two steps of ", seconds(worker.watchdog->StepTime(now)),
                 " s and a save; `grace` sets another limit");
  }
  call_.log(Level::kInfo, StrCat("the trainer gets at most ", seconds(grace_),
                                 " s to end its step and save it (", why, ")"));
}

void Attempt::SignalAll(int number) {
  for (Worker& worker : workers_)
    if (!worker.ended) worker.process->Signal(number);
}

std::vector<std::string> Attempt::Tail() const {
  return decided_ < workers_.size() && workers_[decided_].process ? workers_[decided_].process->log().Tail()
                                                                  : std::vector<std::string>();
}

std::uint64_t Attempt::bad_lines() const {
  std::uint64_t bad = 0;
  for (const Worker& worker : workers_)
    if (worker.process) bad += worker.process->lines().bad();
  return bad;
}

std::string Attempt::first_bad_line() const {
  for (const Worker& worker : workers_)
    if (worker.process && worker.process->lines().bad() > 0) return worker.process->lines().first_bad();
  return {};
}

}  // namespace pipeline
