// Plans and results in words, on standard output.
#pragma once

#include "dag/environment.h"
#include "dag/forecast.h"
#include "dag/plan.h"
#include "spec/graph.h"

namespace pipeline {

/// One paragraph per segment: what runs, which stages run with it, how much, and with `explain` why.
/// `forecast_too` adds what is read and the peak of disk.
void PrintPlan(const Graph& graph, const Plan& plan, const Forecast& forecast, bool explain,
               bool forecast_too);

/// For a run that had nothing to do.
void PrintUpToDate(const Graph& graph, const Plan& plan);

/// What stands after a run: every artifact with its counts, what stages dropped, how to look at it.
void PrintResults(const Graph& graph, const Plan& plan, const Environment& environment);

}  // namespace pipeline
