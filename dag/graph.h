// What exists: the stages of a file and who reads whom.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "dag/pipeline_file.h"

namespace pipeline {

/// A stage in its place. `readers` and `input` are positions in Graph::nodes().
struct Node {
  const StageSpec* spec = nullptr;  // owned by the PipelineSpec
  int input = -1;                   // -1: none
  std::vector<int> readers;         // in the order of the file
  Schema in;                        // columns that arrive
  Schema out;                       // columns that leave
};

/// Immutable; refers to the PipelineSpec it was built from.
class Graph {
 public:
  /// Adds to `mistakes`: unknown inputs, cycles (naming the stages along it), flows that do not fit,
  /// missing columns (naming both stages), and what the types' own checks find. A stage whose type
  /// is null or whose configuration is null is not judged, nor are the columns after it. The result
  /// is whole only when it added none. `registry`, where given, is asked for a stage to put between
  /// two that do not fit.
  static Graph Build(const std::vector<StageSpec>& stages, std::vector<Mistake>& mistakes,
                     const Registry* registry = nullptr);

  /// Inputs before readers; among equals, in the order of the file.
  const std::vector<Node>& nodes() const { return nodes_; }
  /// -1 where no stage has that name.
  int Find(std::string_view stage) const;
  /// The stages that the stage at `node` is made from, itself last, from the beginning of the line.
  std::vector<int> Lineage(int node) const;

 private:
  std::vector<Node> nodes_;
};

}  // namespace pipeline
