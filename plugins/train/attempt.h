// One attempt at a training: starts its processes, watches them and ends them. CONTRACT.md, sections 4 to
// 7.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plugins/native/services.h"
#include "plugins/train/hosts/training_end.h"
#include "plugins/train/trainer_process.h"
#include "plugins/train/watchdog.h"

namespace pipeline {

/// The will of the stage while an attempt runs.
enum class Wish : std::uint8_t {
  kGoOn,
  kStop,  // SIGTERM: the trainer saves and ends; SIGKILL after `grace`
  kKill,  // SIGKILL at once
};

/// Makes the events of a program that sends none (external/external.md). The thread of the attempt calls all
/// functions but Output.
class EventSource {
 public:
  using Take = std::function<void(const Json& event)>;
  virtual ~EventSource() = default;
  /// Bytes of the program's output. Any thread, one at a time.
  virtual void Output(std::string_view bytes) = 0;
  /// Passes on the events since the last call.
  virtual void Poll(const Take& take) = 0;
  /// The program has ended; no other call follows.
  virtual void Ended(const ChildExit& exit, const Take& take) = 0;
};

struct AttemptPlan {
  std::vector<TrainerCommand> commands;  // one per worker
  EventSource* source = nullptr;         // of the only worker; null: the workers send events themselves
  std::chrono::seconds silence{0};       // with `source`: the most without an event
  /// From SIGTERM to SIGKILL. Absent: kLeastGrace, and after a stop two steps and a save if that is longer.
  std::optional<std::chrono::milliseconds> grace = {};
  double patience = 1;
  std::function<Wish()> wish;     // asked often
  std::function<bool()> excused;  // asked often: true while another host waits for files
};

/// Runs once, on the thread that created it.
class Attempt {
 public:
  using Hear = std::function<void(const Json& event)>;

  /// `call` outlives it; `hear` receives every valid event of every worker.
  Attempt(const AttemptPlan& plan, const PluginServices& call, Hear hear);

  /// Returns how the attempt ended, without `progressed`; an error if a process could not be started.
  Result<TrainerEnd> Run();

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
  /// Sets the grace of a stop, and tells it.
  void TakeGrace(Time now);
  void SignalAll(int number);
  TrainerProcess::Take TakeFrom(Worker& worker) const;
  bool running() const;

  const AttemptPlan& plan_;
  const PluginServices& call_;
  const Hear hear_;
  std::vector<Worker> workers_;
  Stage stage_ = Stage::kRunning;
  Time since_{0};  // when `stage_` began
  Time grace_;     // of kEnding
  bool stopped_ = false;
  std::string hung_;  // why it counts as hung; empty: it does not
  bool has_decided_ = false;
  std::size_t decided_ = 0;
};

}  // namespace pipeline
