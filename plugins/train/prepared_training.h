// A training that can begin on this machine, alone or as one of several hosts.
#pragma once

#include <memory>
#include <string>

#include "plugins/native/services.h"
#include "plugins/train/bucket_run.h"
#include "plugins/train/external/external_training.h"
#include "plugins/train/input_check.h"
#include "plugins/train/rows/row_supply.h"
#include "plugins/train/run_directory.h"
#include "plugins/train/train_job.h"

namespace pipeline {

/// All references outlive it.
struct PreparedTraining {
  TrainJob& job;  // its inputs get their local names when they are downloaded
  const PluginServices& call;
  const TrainInputs& inputs;
  const RunDirectory& directory;
  BucketRun* bucket = nullptr;                      // null: the run directory is the location of the run
  std::string python = {};                          // of the bundled trainer
  std::unique_ptr<ExternalTraining> external = {};  // null: the bundled trainer
  std::unique_ptr<RowSupply> rows = {};             // null: they are on this machine anyway

  bool leads() const { return job.position.host == 0; }
};

}  // namespace pipeline
