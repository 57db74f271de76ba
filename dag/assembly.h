// The stages of one planned segment, made from their types: what a unit runs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dag/graph.h"
#include "dag/segment.h"
#include "dag/stage.h"

namespace pipeline {

/// Immutable once made; shared by the units of its segment.
struct Assembly {
  std::unique_ptr<SourceStage> source;  // null for a segment that reads partition files
  std::vector<std::unique_ptr<Transform>> transforms;
  std::unique_ptr<SinkStage> sink;
  /// Names of the stages that count, in the order of Batch::counts. A segment that reads partition
  /// files has the stage that made them at 0.
  std::vector<std::string> stages;
  SegmentSpec spec;
};

/// Makes the stages at `chain` (positions in `graph`, in order). `sink` is given where the last of
/// them is materialised, else the last one is a Sink stage itself. `origin` names the stage whose
/// partition files are read; empty where the chain begins with a Source.
Result<Assembly> Assemble(const Graph& graph, const std::vector<int>& chain, const std::string& origin,
                          std::unique_ptr<SinkStage> sink);

}  // namespace pipeline
