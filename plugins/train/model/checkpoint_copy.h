// A checkpoint of a training, copied to this machine beside a job that asks for the steps that the checkpoint
// has: a trainer that gets the job takes no step. For `pipe export` and for `pipe eval` of a training that
// goes on.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "plugins/native/services.h"
#include "plugins/train/checkpoint_marker.h"
#include "plugins/train/model/named_run.h"
#include "plugins/train/run_directory.h"

namespace pipeline {

/// A training, finished or not.
struct NamedTraining {
  std::string uri;  // of its run directory: an absolute path or a URI
  Json job;         // job.json there

  /// The location of its rows.
  std::string rows() const { return std::string(job["data"]["dir"].AsString()); }
  /// The splits that a checkpoint needs to score `split`: an objective that learns numbers measures those of
  /// `train`.
  std::vector<std::string> SplitsFor(const std::string& split) const;
};
/// `place`: as of FindRun and FindRunElsewhere. kInvalidArgument: an external program trains there, whose
/// checkpoints have its own form; kDataLoss: job.json is damaged.
Result<NamedTraining> FindTraining(const std::string& place, Meant meant, const PluginServices& call);

/// Finds the step to use: `asked`, or that of the finished model, or else the newest of `checkpoints`.
/// kNotFound names the steps that there are.
Result<std::int64_t> ChosenStep(const NamedTraining& training,
                                const std::map<std::int64_t, CheckpointName>& checkpoints,
                                std::optional<std::int64_t> asked, const PluginServices& call);

/// The use of a checkpoint.
struct CheckpointUse {
  std::int64_t step = 0;
  std::string rows;                         // directory of the rows
  std::string split;                        // the split that is scored
  std::optional<std::int64_t> scored_rows;  // absent: as many as in the training; 0: all
  bool rows_of_others = false;              // not those of the training
  bool exports = false;
  Json export_config;  // config.export of the job; null: the model alone
};

/// The directory, with its lock, belongs to this object, which removes it.
class CheckpointCopy {
 public:
  /// Copies the checkpoint of `use` below `directory`, which does not exist. `cache`: for a model from a
  /// bucket that adapters are for. kNotFound: the checkpoint is gone, or is not whole.
  static Result<CheckpointCopy> Make(const NamedTraining& training, const CheckpointUse& use,
                                     const std::string& directory, const std::string& cache,
                                     const PluginServices& call);
  /// Removes the copy that a kill has left in `directory`. False: a process has it, or it is no copy.
  static bool RemoveLeft(const std::string& directory);
  CheckpointCopy(CheckpointCopy&&) = default;
  CheckpointCopy& operator=(CheckpointCopy&&) = delete;
  ~CheckpointCopy();

  std::string Path(std::string_view name) const { return run_->Path(name); }
  /// Runs pipe_trainer.at_step with the job and `words`. Its output is the output of the command.
  Status Run(const std::string& python, std::vector<std::string> words, const PluginServices& call) const;

 private:
  explicit CheckpointCopy(RunDirectory run) : run_(std::make_unique<RunDirectory>(std::move(run))) {}

  std::unique_ptr<RunDirectory> run_;  // null: moved away
};

}  // namespace pipeline
