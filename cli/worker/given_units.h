// `pipe worker --unit` and `--index`: runs given units.
#pragma once

#include <cstddef>
#include <string>

#include "cli/terminal/signals.h"
#include "cli/worker/worker_options.h"

namespace pipeline {

struct GivenUnits {
  std::string unit;  // one unit, or its line in units.txt; empty: those from number index * count on
  int index = 0;
  int count = 1;
};

/// Runs the units one after the other. Returns the exit status: 0, or that of the last one that failed.
int RunGivenUnits(const WorkerOptions& options, const GivenUnits& given, SignalWatch& signals);

}  // namespace pipeline
