// Prints plans and results on standard output.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/report/training_record.h"
#include "dag/environment.h"
#include "dag/forecast/forecast.h"
#include "dag/pipeline_file/graph.h"
#include "dag/plan/plan.h"
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

/// Returns the counts of the stages up to `stage`, the last of its segment: a line for each that is not in
/// `told`, which gets their names. For a segment that is complete.
std::vector<std::string> CountLines(const Graph& graph, const Plan& plan, const Environment& environment,
                                    std::string_view stage, std::set<std::string>& told);

/// The end of a run, in about ten lines: what was made and where, how good a model is, and the next commands.
/// `trainings`: those of the run.
void PrintResults(const Graph& graph, const Plan& plan, const Environment& environment,
                  const std::vector<RecordedTraining>& trainings);

}  // namespace pipeline
