// A work package, opened by a worker.
#pragma once

#include <memory>
#include <string>

#include "cli/workspace/pipeline_loader.h"
#include "dag/package/work_package.h"
#include "storage/store.h"

namespace pipeline {

struct OpenedPackage {
  std::unique_ptr<Store> store;
  WorkPackage plan;
};

/// Opens the work package at `location`; returns the exit status of `pipe worker`, 0: `opened` has it. Prints
/// why it cannot be opened.
int OpenPackage(const std::string& location, OpenedPackage& opened);

/// Changes to the directory where `pipe plan` ran, and loads the pipeline file of `plan`. Null: it has
/// mistakes, which are printed.
std::unique_ptr<LoadedPipeline> LoadPackage(const WorkPackage& plan);

}  // namespace pipeline
