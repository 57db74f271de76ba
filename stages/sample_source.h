// Second half of a sample: the records that were drawn, out of the pieces of all partitions.
#pragma once

#include <memory>

#include "records/gather_stage.h"
#include "records/intermediate.h"
#include "records/schema.h"
#include "records/source.h"
#include "stages/sample_sink.h"

namespace pipeline {

/// Reads the pieces up to three times, the first two of them here. `format` and `request.artifact`
/// outlive the Source.
Result<std::unique_ptr<Source>> OpenSample(const SampleRules& rules, const IntermediateFormat& format,
                                           const Schema& schema, GatherRequest request);

}  // namespace pipeline
