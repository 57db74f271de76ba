// Runs the only unit of a Job, STAGE/-, from its inputs to its manifest.
#pragma once

#include <stop_token>
#include <vector>

#include "base/status.h"
#include "dag/pipeline_file/graph.h"
#include "dag/records/partition_output.h"
#include "dag/run/segment_state.h"

namespace pipeline {

/// Detail of kFailedPrecondition: the stage itself refuses, such as a tokenizer whose text has too few
/// pieces. Another try refuses, too.
struct StageRefused final : StatusDetail {};

/// Runs the Job of `state` over `outputs`, which are all partition outputs of its upstream if it has one,
/// and commits the result; or reuses the result of an earlier run at its location or elsewhere. Reads only
/// immutable members of `state`. If a partition output is damaged: DamagedOutput(status) names it, whatever
/// error the Job returned.
Status RunJobUnit(const Graph& graph, const SegmentState& state, std::vector<PartitionOutput> outputs,
                  std::stop_token stop);

}  // namespace pipeline
