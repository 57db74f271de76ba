// The side of the stage of `trainer: external`: the command of an attempt, the meaning of its end, and the
// result. external.md, sections 2, 4 and 5.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "plugins/native/services.h"
#include "plugins/train/attempt_runner.h"
#include "plugins/train/external/external_program.h"
#include "plugins/train/external/external_settings.h"
#include "plugins/train/external/placeholders.h"
#include "plugins/train/external/program_checkpoints.h"
#include "plugins/train/hosts/training_end.h"
#include "plugins/train/run_directory.h"
#include "plugins/train/train_job.h"

namespace pipeline {

/// The path of the program of `command`: external.md, section 2. kFailedPrecondition names what is missing:
/// the directory `environment`, or the program. `environment` may be empty.
Result<std::string> FindProgram(const std::string& environment, const std::string& program);

/// Before a run: as FindProgram; if `environment` is a file of requirements, its environment may be missing
/// yet.
Status CheckProgram(const std::string& environment, const std::string& program);

/// kFailedPrecondition: {checkout} is used, and there is no such directory. Returns a warning if it has
/// another commit than the preset; empty: none.
Result<std::string> CheckCheckout(const Json& settings);

/// An attempt that several hosts make together.
struct JointAttempt {
  std::string address;     // of host 0, for its coordinator
  int port = 0;            // of the coordinator
  std::int64_t step = -1;  // of the checkpoint in checkpoints/ at which all begin; -1: none
};

/// One training. One thread.
class ExternalTraining {
 public:
  /// All arguments outlive it. `job` has the local directories of its inputs when Begin is called.
  static Result<std::unique_ptr<ExternalTraining>> Make(const TrainJob& job, const RunDirectory& directory,
                                                        const PluginServices& call);

  /// The command of an attempt and its source of events. Both refer to this object, until the next call.
  /// `joint`: null on a single host.
  Result<ProgramStart> Begin(std::int64_t attempt, const JointAttempt* joint = nullptr);

  /// The end of the attempt with its meaning; for a success on host 0 the result is written before.
  Result<TrainerEnd> Judge(TrainerEnd end) const;

  /// `{run_dir}` is one directory that all hosts see.
  bool shared() const { return settings_.shared && job_.position.hosts > 1; }

 private:
  ExternalTraining(const TrainJob& job, const RunDirectory& directory, const PluginServices& call,
                   ExternalSettings settings, std::string environment);
  /// The files to publish, below `from`. kFailedPrecondition: there are none, and the reason.
  struct Output {
    std::string from;
    std::vector<std::string> files;
  };
  Result<Output> FindOutput() const;
  /// The steps that the training has done, as far as they were seen; -1: none were.
  Result<std::int64_t> StepsDone() const;
  /// The same by the events of the attempt before, for an attempt that showed no step but wrote files of the
  /// output; -1: they do not count.
  std::int64_t StepsBefore(const TrainerEnd& end, const Output& output) const;
  /// The attempt has written a file of the output.
  bool Written(const Output& output) const;
  /// kFailedPrecondition: an end with 0 at these steps is no success, and the reason.
  Status CheckDone(const TrainerEnd& end, std::int64_t done, const Output& output) const;
  Result<PlaceholderValues> Values(const std::string& place, const JointAttempt& joint) const;
  /// The directory of the program.
  std::string Place() const;
  /// The step of the checkpoint at which the program begins, as far as the stage knows; -1: none.
  Result<std::int64_t> BeginCheckpoints(const JointAttempt* joint);
  /// Removes what no attempt may find, and copies the files that the program expects below `place`.
  Status LayOut(const std::string& place, const PlaceholderValues& values) const;
  /// Ends the processes that earlier attempts have left.
  Status EndLeft() const;
  /// Says that the last loss was not finite, or not seen.
  void TellLosses() const;
  /// The steps done when the program counts `step`; -1: none.
  std::int64_t Counted(std::int64_t step) const { return step < 0 ? -1 : step + 1 - settings_.first_step; }
  /// Keeps the digests of the export of a result that is about to be replaced.
  Status RememberExport() const;
  /// Makes `export/`, durably. kFailedPrecondition: nothing changed since the result with fewer steps.
  Status CopyOutput(const Output& output) const;
  Status WriteResult(std::int64_t done) const;

  const TrainJob& job_;
  const RunDirectory& directory_;
  const PluginServices& call_;
  const ExternalSettings settings_;
  const std::string environment_;                  // its directory; empty: the programs of this machine
  std::optional<ProgramCheckpoints> checkpoints_;  // absent: none are recognised
  std::unique_ptr<ExternalProgram> program_;       // of the attempt
  std::map<std::string, std::string> before_;      // files of `success` before the attempt, with their looks
};

}  // namespace pipeline
