// One attempt at a training: its processes from their start to their end, watched. CONTRACT.md, sections 4
// to 7.
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

struct AttemptPlan {
  std::vector<TrainerCommand> commands;  // one for each worker
  std::chrono::milliseconds grace{30'000};
  double patience = 1;
};

/// Run once, by the thread that made it.
class Attempt {
 public:
  using Hear = std::function<void(const Json& event)>;

  /// `call` outlives it; `hear` gets every good event of every worker.
  Attempt(const AttemptPlan& plan, const HostCall& call, Hear hear);

  /// How it ended, without `progressed`; an error where a process could not be started.
  Result<AttemptEnd> Run();

  /// The worker that decided how it ended; 0 where none did.
  std::size_t decided() const { return decided_; }
  /// The last lines of what that worker printed.
  std::vector<std::string> Tail() const;
  std::uint64_t bad_lines() const;
  std::string first_bad_line() const;

 private:
  using Time = std::chrono::nanoseconds;
  /// What was done to end it; each follows from the one before.
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
  std::string hung_;  // why it was taken for hanging; empty: it was not
  bool has_decided_ = false;
  std::size_t decided_ = 0;
};

}  // namespace pipeline
