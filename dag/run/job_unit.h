// Runs the only unit of a Job, STAGE/-, from its inputs to its manifest.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/status.h"
#include "dag/pipeline_file/graph.h"
#include "dag/progress.h"
#include "dag/records/counts.h"
#include "dag/records/job_stage.h"
#include "dag/records/partition_output.h"
#include "dag/run/segment_state.h"
#include "dag/run/segment_unit.h"

namespace pipeline {

/// One call of a Job's stage: its scratch directory, its request, and its progress. One thread. The scratch
/// directory exists as long as this object.
class JobCall {
 public:
  /// `scope` outlives it, and has a Job. `unit`: its id. `input_bytes`: for the progress.
  JobCall(const SegmentScope& scope, std::string unit, std::uint64_t input_bytes, std::stop_token stop);
  ~JobCall();
  JobCall(const JobCall&) = delete;
  JobCall& operator=(const JobCall&) = delete;

  /// kResourceExhausted: the Job would take more memory than limits.memory for this input. Reads and writes
  /// nothing.
  static Status CheckMemory(const SegmentScope& scope, const ArtifactTotals& input);

  /// Makes the scratch directory; call it first.
  Status Begin();
  /// All members that do not depend on the records and on the right to write to `out`.
  JobRequest Request() const;
  Result<JobOutput> Run(const JobRequest& request) const;
  const std::shared_ptr<RunningUnit>& running() const { return running_; }

 private:
  const SegmentScope& scope_;
  const std::string unit_;
  const std::stop_token stop_;
  const std::string scratch_;
  const std::shared_ptr<RunningUnit> running_;
};

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
