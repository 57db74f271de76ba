#include "plugins/train/external/external_program.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/clock.h"
#include "base/str.h"
#include "base/wait.h"

namespace pipeline {

namespace {

using namespace std::chrono_literals;

constexpr auto kLook = 250ms;  // between two looks at the checkpoints
constexpr std::chrono::nanoseconds kBeat = 10s;
constexpr int kBeatsInSilence = 4;

}  // namespace

ExternalProgram::ExternalProgram(const TrainJob& job, std::int64_t attempt, const ExternalSettings& settings,
                                 const std::string& directory, ProgramCheckpoints* checkpoints,
                                 std::int64_t restored, const PluginServices& call)
    : job_(job),
      attempt_(attempt),
      checkpoints_(checkpoints),
      restored_(restored),
      call_(call),
      beat_(std::min<std::chrono::nanoseconds>(kBeat,
                                               std::chrono::nanoseconds(settings.silence) / kBeatsInSilence)),
      recogniser_(settings, job.settings["log_every"].AsInt(1)) {
  if (settings.events) {
    events_.emplace(directory + "/" + settings.events->directory, settings.events->tag);
    events_->Skip();
  }
  if (checkpoints_ != nullptr || events_)
    watch_ = std::jthread([this](const std::stop_token& stop) { Watch(stop); });
}

ExternalProgram::~ExternalProgram() = default;

void ExternalProgram::Output(std::string_view bytes) { recogniser_.Feed(bytes, SystemClock().Monotonic()); }

void ExternalProgram::Watch(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    ReadEvents();
    if (checkpoints_ != nullptr) LookForCheckpoints(false);
    (void)WaitFor(kLook, stop);
  }
}

void ExternalProgram::LookForCheckpoints(bool ended_well) {
  const std::optional<ProgramCheckpoints::Found> found =
      checkpoints_->Find(SystemClock().Monotonic(), ended_well);
  if (!found) return;
  if (const Status taken = checkpoints_->TakeOver(*found); !taken.ok()) {
    call_.log(Level::kWarning,
              StrCat("the checkpoint at step ", found->step, " is passed over: ", taken.message()));
    return;
  }
  const Lock lock(mutex_);
  taken_.push_back(found->step);
}

void ExternalProgram::ReadEvents() {
  if (!events_) return;
  for (const EventScalar& scalar : events_->Read())
    recogniser_.Hear(scalar.step, scalar.value, SystemClock().Monotonic());
}

Json ExternalProgram::Event(std::string_view kind, std::int64_t step) {
  return Json::Object{{"v", 1},
                      {"kind", kind},
                      {"seq", ++seq_},
                      {"t", static_cast<double>(SystemClock().UnixMillis()) / 1e3},
                      {"m", std::chrono::duration<double>(SystemClock().Monotonic()).count()},
                      {"attempt", attempt_},
                      {"worker", job_.position.host},
                      {"step", step}};
}

void ExternalProgram::Poll(const Take& take) {
  if (seq_ == 0 && restored_ >= 0) {
    Json restore = Event("restore", restored_);
    restore["path"] = StrCat("checkpoints/", restored_);
    take(restore);
  }
  const OutputRecogniser::Heard heard = recogniser_.Take();
  step_ = heard.step;
  losses_ = heard.losses;
  for (const OutputRecogniser::Step& step : heard.steps) {
    Json event = Event("step", step.step);
    event["loss"] = step.loss && std::isfinite(*step.loss) ? Json(*step.loss) : Json();
    take(event);
  }
  const std::chrono::nanoseconds now = SystemClock().Monotonic();
  lines_ |= heard.lines;
  if (lines_ && now - beaten_ >= beat_) {
    lines_ = false;
    beaten_ = now;
    take(Event("hb", std::max<std::int64_t>(heard.step, 0)));
  }
  std::vector<std::int64_t> taken;
  {
    const Lock lock(mutex_);
    taken.swap(taken_);
  }
  for (const std::int64_t step : taken) {
    Json commit = Event("ckpt_commit", step);
    commit["path"] = StrCat("checkpoints/", step);
    take(commit);
  }
  // Only now: the listeners have their own links of these checkpoints.
  if (!taken.empty()) checkpoints_->Prune(job_.settings["keep_checkpoints"].AsInt(1));
}

void ExternalProgram::Ended(const ChildExit& exit, const Take& take) {
  if (watch_.joinable()) {
    watch_.request_stop();
    watch_.join();
  }
  ReadEvents();
  // A program that was killed may have left half an event.
  const std::string unread = events_ && exit.ok() ? events_->Unread() : std::string();
  if (!unread.empty())
    call_.log(Level::kWarning, StrCat(unread, " begins no whole event; the rest of the file is not read"));
  recogniser_.End(SystemClock().Monotonic());
  if (checkpoints_ != nullptr) LookForCheckpoints(exit.ok());
  Poll(take);
}

}  // namespace pipeline
