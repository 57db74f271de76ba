// The stages of one planned segment, made from their types: what a unit runs.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dag/plan.h"
#include "dag/segment.h"
#include "records/gather_stage.h"
#include "records/job_stage.h"
#include "records/reader_stage.h"
#include "records/sink.h"
#include "records/source.h"
#include "records/transform.h"
#include "spec/graph.h"

namespace pipeline {

/// Immutable once made; shared by the units of its segment.
struct Assembly {
  std::unique_ptr<SourceStage> source;  // null for a segment that reads no files
  std::unique_ptr<ReaderStage> reader;  // null for a segment that does not begin with one
  std::unique_ptr<GatherStage> gather;  // null for a segment that does not begin with one
  std::unique_ptr<JobStage> job;        // null for a chain of records; else all that is here
  std::vector<std::unique_ptr<Transform>> transforms;
  std::unique_ptr<SinkStage> sink;
  /// Names of the stages that count, in the order of Batch::counts. A segment that reads partition
  /// files has the stage that made them at 0.
  std::vector<std::string> stages;
  std::vector<const StageType*> types;  // of those; null for the one that made the files
  SegmentSpec spec;
};

/// What stands at the ports of the stages of a chain, by node and port.
using Artifacts = std::map<int, std::map<std::string, ArtifactInput, std::less<>>>;

/// Makes the stages of `planned`. `sink` is given where the last of them is materialised. `origin` names the
/// stage whose partition files are read; empty where there is none.
Result<Assembly> Assemble(const Graph& graph, const PlannedSegment& planned, const std::string& origin,
                          std::unique_ptr<SinkStage> sink, const Artifacts& artifacts);

}  // namespace pipeline
