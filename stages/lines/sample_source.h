// The second half of a sample: reads the drawn records from the outputs of all partitions.
#pragma once

#include <memory>

#include "dag/records/barrier_stage.h"
#include "dag/records/intermediate.h"
#include "dag/records/schema.h"
#include "dag/records/source.h"
#include "stages/lines/sample_sink.h"

namespace pipeline {

/// Reads the partition outputs up to three times, twice in this call. `format` and `request.artifact`
/// outlive the Source.
Result<std::unique_ptr<Source>> OpenSample(const SampleRules& rules, const IntermediateFormat& format,
                                           const Schema& schema, BarrierRequest request);

}  // namespace pipeline
