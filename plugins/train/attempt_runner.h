// Runs attempts of the trainers of this machine: their commands, their events and the explanation of their
// end. CONTRACT.md, sections 4 to 6.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "plugins/native/services.h"
#include "plugins/train/attempt.h"
#include "plugins/train/event_journal.h"
#include "plugins/train/hosts/training_end.h"
#include "plugins/train/progress_reporter.h"
#include "plugins/train/run_directory.h"
#include "plugins/train/train_job.h"

namespace pipeline {

/// A program that is no trainer of the contract: external/external.md.
struct ProgramStart {
  TrainerCommand command;         // without `log` and `output`
  EventSource* source = nullptr;  // lives as long as the attempt
  std::chrono::seconds silence{0};
};

/// One attempt, as far as it differs from the others.
struct AttemptStart {
  std::int64_t number = 1;
  std::string coordinator;                               // ADDRESS:PORT; empty: there is one worker
  std::string resume = "auto";                           // PIPE_RESUME
  std::string blocks;                                    // PIPE_ROW_BLOCKS; empty: all rows are here
  std::optional<ProgramStart> program;                   // absent: the bundled trainer
  std::function<Wish()> wish;                            // as in AttemptPlan
  std::function<bool()> excused = [] { return false; };  // as in AttemptPlan
  Attempt::Hear hear = [](const Json&) {};               // each valid event of each worker
};

/// One thread.
class AttemptRunner {
 public:
  /// All arguments outlive it.
  AttemptRunner(const TrainJob& job, const PluginServices& call, const RunDirectory& directory);

  /// Returns how the attempt ended; an error if a process could not be started. An attempt that ends well
  /// without a good result.json on host 0 counts as a bug of the trainer; the caller judges the end of a
  /// program.
  Result<TrainerEnd> Run(const std::string& python, const AttemptStart& start);

  /// The last lines of the worker that decided the last attempt, and the file that has all of them.
  const std::vector<std::string>& tail() const { return tail_; }
  const std::string& log() const { return log_; }

 private:
  AttemptPlan PlanOf(const std::string& python, const AttemptStart& start) const;
  std::int64_t FirstWorker() const { return job_.position.host * job_.processes(); }
  /// Keeps count of the steps that are not in a checkpoint.
  void Count(const Json& event);
  /// Says what a stop has saved, and what it has lost.
  void TellStop() const;
  /// Adds the trainer's own explanation of its end. `explained`: its event `error`; empty: there was none.
  void AddError(std::int64_t number, std::size_t worker, const std::string& explained, TrainerEnd& end) const;

  const TrainJob& job_;
  const PluginServices& call_;
  const RunDirectory& directory_;
  EventJournal journal_;
  ProgressReporter reporter_;
  std::int64_t committed_ = -1;  // step of the last checkpoint that was heard of
  std::int64_t reached_ = -1;    // step of the last event
  using Time = std::chrono::nanoseconds;
  Time saving_{0}, since_{0}, at_{0};  // a checkpoint began; the first step after the last one; the last step
  std::uint64_t drowned_ = 0;
  std::string log_;
  std::vector<std::string> tail_;
};

}  // namespace pipeline
