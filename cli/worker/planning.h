// Plans a work package: adds the results of workers to the log, does the quick work, and offers the rest.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/live/status_display.h"
#include "cli/workspace/pipeline_loader.h"
#include "cli/workspace/work_place.h"
#include "dag/package/work_package.h"
#include "dag/plan/selection.h"
#include "dag/run/executor.h"

namespace pipeline {

struct PlanningRequest {
  PipelineOptions pipeline;
  std::optional<WorkPlace> place;  // of an earlier plan; absent: `pipeline` names it
  std::string text;                // of the pipeline file
  std::string command;             // as it was typed, without secrets; empty: nobody typed it
  std::string directory;           // where relative paths begin
  Selection selection;
  std::string package;  // location of the work package
  int threads = 0;      // 0: as many as this machine has cores
  bool check = false;   // all local sources are read again
  /// A worker asks: the present plan as it has seen it; outlives the call. Null: a person asks, so units that
  /// were given up are tried again, and an ended run goes on.
  const WorkPackage* present = nullptr;
  std::function<Status()> before_writing = {};  // not OK: no plan is written; empty: nothing is asked
};

struct PlanningOutcome {
  /// OK: a plan was written. Else nothing was planned, and this says why. kFailedPrecondition: another
  /// process writes in the work directory or at a location, or something was changed meanwhile.
  Status written;
  bool told = false;                  // the reason was printed already
  bool unfit = false;                 // this machine makes other bytes than the one that planned
  std::string nonce;                  // of the plan
  bool begins = false;                // it begins another run than the plan before
  std::size_t added = 0;              // work results that tell of new work
  std::vector<OfferedUnit> offered;   // units that can run now
  StageNeeds needs;                   // also of units to come
  std::vector<UnitFailure> failures;  // of quick work: checks, manifests
  std::vector<std::string> left_out;  // stages that cannot run, and why
  Status run;                         // RunOutcome::status
};

/// `loaded` is the file of `request`. Prints reports and failures.
PlanningOutcome PlanUnits(const PlanningRequest& request, LoadedPipeline& loaded, StatusDisplay& display,
                          std::stop_token stop);

}  // namespace pipeline
