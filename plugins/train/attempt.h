// One attempt at a training: starts its processes, watches them and ends them. CONTRACT.md, sections 4 to
// 7.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "plugins/train/host_call.h"
#include "plugins/train/restart_policy.h"
#include "plugins/train/trainer_process.h"
#include "plugins/train/watchdog.h"

namespace pipeline {

/// The will of the stage while an attempt runs.
enum class Wish : std::uint8_t {
  kGoOn,
  kStop,  // SIGTERM: the trainer saves and ends; SIGKILL after `grace`
  kKill,  // SIGKILL at once
};

struct AttemptPlan {
  std::vector<TrainerCommand> commands;  // one per worker
  std::chrono::milliseconds grace{30'000};
  double patience = 1;
  std::function<Wish()> wish = {};     // asked often; empty: kStop once the call is stopped
  std::function<bool()> excused = {};  // asked often: true while another host waits for files; empty: never
};

/// Runs once, on the thread that created it.
class Attempt {
 public:
  using Hear = std::function<void(const Json& event)>;

  /// `call` outlives it; `hear` receives every valid event of every worker.
  Attempt(const AttemptPlan& plan, const HostCall& call, Hear hear);

  /// Returns how the attempt ended, without `progressed`; an error if a process could not be started.
  Result<AttemptEnd> Run();

  /// The worker that decided the outcome; 0 if none did.
  std::size_t decided() const { return decided_; }
  /// The last lines of that worker's output.
  std::vector<std::string> Tail() const;
  std::uint64_t bad_lines() const;
  std::string first_bad_line() const;

 private:
  using Time = std::chrono::nanoseconds;
  /// The steps that end the attempt, in this order.
  enum class Stage : std::uint8_t { kRunning, kDumping, kEnding, kKilled };
  struct Worker {
    std::unique_ptr<TrainerProcess> process;
    std::unique_ptr<Watchdog> watchdog;
    pid_t id = 0;
    bool ended = false;
    ChildExit exit;
  };

  void Listen();
  void Reap(std::size_t index);
  void Escalate(Time now);
  void SignalAll(int number);
  TrainerProcess::Take TakeFrom(Worker& worker) const;
  bool running() const;

  const AttemptPlan& plan_;
  const HostCall& call_;
  const Hear hear_;
  std::vector<Worker> workers_;
  Stage stage_ = Stage::kRunning;
  Time since_{0};  // when `stage_` began
  bool stopped_ = false;
  std::string hung_;  // why it counts as hung; empty: it does not
  bool has_decided_ = false;
  std::size_t decided_ = 0;
};

}  // namespace pipeline
