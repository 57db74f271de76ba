// The most disk that the outputs of a run take at one time, while intermediates are removed as it goes.
#pragma once

#include <cstdint>

#include "dag/forecast/forecast.h"
#include "dag/plan/plan.h"

namespace pipeline {

/// Returns the most bytes of intermediates and local publications that `plan` may add at one time, whatever
/// segments run at the same time. In a plan with very many of them, the sum of all. `expected`: the bytes of
/// each segment.
std::uint64_t PeakOfOutputs(const Plan& plan, const IdVector<SegmentId, SegmentForecast>& expected);

}  // namespace pipeline
