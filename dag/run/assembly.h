// The stages of one planned segment, made from their types. Units run them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dag/pipeline_file/graph.h"
#include "dag/pipeline_file/stage_context.h"
#include "dag/plan/plan.h"
#include "dag/records/barrier_stage.h"
#include "dag/records/job_stage.h"
#include "dag/records/reader_stage.h"
#include "dag/records/sink.h"
#include "dag/records/source.h"
#include "dag/records/transform.h"
#include "dag/run/segment.h"

namespace pipeline {

/// Immutable once made; shared by the units of its segment.
struct Assembly {
  std::unique_ptr<SourceStage> source;    // null: the segment reads no files
  std::unique_ptr<ReaderStage> reader;    // null: the segment does not begin with one
  std::unique_ptr<BarrierStage> barrier;  // null: the segment does not begin with one
  std::unique_ptr<JobStage> job;          // null: a chain of records; otherwise the only stage here
  std::vector<std::unique_ptr<Transform>> transforms;
  std::unique_ptr<SinkStage> sink;
  /// Names of the stages that count, in the order of Batch::counts. In a segment that reads partition
  /// files, the stage that made them has position 0.
  std::vector<std::string> stages;
  std::vector<const StageType*> types;  // of `stages`; null for the stage that made the files
  SegmentSpec spec;
};

/// The artifacts at the named inputs of a chain's stages, by node and name.
using Artifacts = std::map<NodeId, std::map<std::string, ArtifactInput, std::less<>>>;

/// Makes the Source of `planned` alone, for questions about what was read, if the chain begins with one.
Status MakeSource(const Graph& graph, const PlannedSegment& planned, Assembly& assembly);

/// Makes the stages of `planned`. `sink` is not null if the last stage's records are kept. `upstream` names
/// the stage whose partition files are read; empty: none.
Result<Assembly> Assemble(const Graph& graph, const PlannedSegment& planned, const std::string& upstream,
                          std::unique_ptr<SinkStage> sink, const Artifacts& artifacts);

}  // namespace pipeline
