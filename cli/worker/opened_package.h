// A work package, opened by a worker.
#pragma once

#include <memory>
#include <stop_token>

#include "cli/worker/scratch.h"
#include "cli/worker/worker_options.h"
#include "cli/workspace/pipeline_loader.h"
#include "dag/package/unit_fit.h"
#include "dag/package/work_package.h"
#include "storage/store.h"

namespace pipeline {

struct OpenedPackage {
  std::unique_ptr<Store> store;
  WorkPackage plan;
  std::unique_ptr<Scratch> scratch;
  std::unique_ptr<LoadedPipeline> loaded;
  WorkerRoom room;  // its scratch: as the package was opened
};

/// Opens the work package, makes a scratch, changes to the directory where `pipe plan` ran, and loads the
/// pipeline file. Returns the exit status of `pipe worker`; 0: `opened` has everything. Prints why it is
/// another one.
int OpenPackage(const WorkerOptions& options, OpenedPackage& opened, const std::stop_token& stop);

}  // namespace pipeline
