// What exists: the stages of a file and who reads whom.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "spec/pipeline_file.h"

namespace pipeline {

/// What stands at one of a stage's ports.
struct PortEdge {
  const Port* port = nullptr;  // of the reader's type
  std::string name;            // of the port; NAME[0], NAME[1] … where it takes many
  int node = -1;               // the stage that makes it; -1: a file
  std::string file;            // its path; empty where a stage makes it
};

/// A stage in its place. Stages are positions in Graph::nodes().
struct Node {
  const StageSpec* spec = nullptr;  // owned by the PipelineSpec
  int input = -1;                   // -1: none
  std::vector<PortEdge> ports;      // in the order of the type's table, with what is inherited
  std::vector<int> readers;         // of `input`, in the order of the file
  std::vector<int> port_readers;    // who have it at a port; the same stage at most once
  Schema in;                        // columns that arrive
  Schema out;                       // columns that leave
};

/// Immutable; refers to the PipelineSpec it was built from.
class Graph {
 public:
  /// Adds to `mistakes`: unknown inputs, cycles (naming the stages along it), flows and ports that do not
  /// fit, missing columns (naming both stages), and what the types' own checks find. A stage whose type
  /// is null or whose configuration is null is not judged, nor are the columns after it. The result
  /// is whole only when it added none. `registry`, where given, is asked for a stage to put between
  /// two that do not fit.
  static Graph Build(const std::vector<StageSpec>& stages, std::vector<Mistake>& mistakes,
                     const Registry* registry = nullptr);

  /// Inputs before readers; among equals, in the order of the file.
  const std::vector<Node>& nodes() const { return nodes_; }
  /// -1 where no stage has that name.
  int Find(std::string_view stage) const;
  /// The stages that the stage at `node` is made from by way of `input`, itself last, from the beginning
  /// of the line.
  std::vector<int> Lineage(int node) const;
  /// True when `stage` is `node` itself or anything that it is made from, ports included.
  bool MadeFrom(int node, int stage) const;

 private:
  std::vector<Node> nodes_;
};

}  // namespace pipeline
