// A run by an engine: plans, starts workers, watches them, or ends them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/submit/cloud_job.h"
#include "cli/submit/engine.h"
#include "cli/workspace/pipeline_words.h"
#include "dag/plan/selection.h"

namespace pipeline {

struct SubmitRequest {
  PipelineOptions pipeline;
  std::string command;  // as it was typed, without secrets
  Selection selection;
  std::string engine;  // --on; empty: --emit was given, or --cancel
  std::string emit;    // batch or k8s; empty: none
  bool cancel = false;
  std::string package;       // -o; empty: in the work directory
  int workers = 0;           // 0: 4, or 1 on this machine
  int cores = 0;             // of each worker; 0: 1, or those of this machine divided by its workers
  std::uint64_t memory = 0;  // bytes of each worker for a unit; 0: the default
  std::string scratch;       // of a worker; empty: its system's
  std::string most_time;     // --for, of a worker; empty: no bound
  std::string program;       // the program on the hosts; empty: this one, or that of the image
  EngineOptions options;
  CloudOptions cloud;
};

/// Returns the exit status.
int SubmitRun(const SubmitRequest& request);

}  // namespace pipeline
