// The second half of a sample: reads the drawn records from the outputs of all partitions.
#pragma once

#include <memory>

#include "records/barrier_stage.h"
#include "records/intermediate.h"
#include "records/schema.h"
#include "records/source.h"
#include "stages/sample_sink.h"

namespace pipeline {

/// Reads the partition outputs up to three times, twice in this call. `format` and `request.artifact`
/// outlive the Source.
Result<std::unique_ptr<Source>> OpenSample(const SampleRules& rules, const IntermediateFormat& format,
                                           const Schema& schema, BarrierRequest request);

}  // namespace pipeline
