// Prints plans and results on standard output.
#pragma once

#include <map>
#include <string>

#include "dag/environment.h"
#include "dag/executor.h"
#include "dag/forecast/forecast.h"
#include "dag/pipeline_file/graph.h"
#include "dag/plan.h"
#include "dag/records/counts.h"

namespace pipeline {

/// One paragraph per segment: its stages, the amount of work, and with `explain` the reason. `forecast_too`
/// adds the bytes read and the peak disk use.
void PrintPlan(const Graph& graph, const Plan& plan, const Forecast& forecast, bool explain,
               bool forecast_too);

/// For a run that had nothing to do.
void PrintUpToDate(const Graph& graph, const Plan& plan);

/// "7 records in, 5 out, dropped_empty 2". A Sink counts no records but may have reasons: "fill_ids 30".
/// Empty: there is nothing to say.
std::string CountsText(const StageCounts& counts);

/// The state after a run: every artifact with its counts, the records that stages dropped, and how to look
/// at it. `removed`: as in RunOutcome.
void PrintResults(const Graph& graph, const Plan& plan, const Environment& environment,
                  const std::map<SegmentId, RemovedOutputs>& removed);

}  // namespace pipeline
