// The graph of a pipeline file: its stages and which stage reads which.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dag/pipeline_file/pipeline_file.h"
#include "dag/pipeline_file/typed_id.h"
#include "dag/records/schema.h"

namespace pipeline {

/// A stage of a graph: its position in Graph::nodes().
using NodeId = TypedId<struct Node>;

/// The artifact or file at one named input of a stage.
struct NamedInputEdge {
  const NamedInput* named_input = nullptr;  // of the reader's type
  std::string name;                         // of the input; NAME[0], NAME[1] … if it takes many
  std::optional<NodeId> node;               // the stage that makes it; absent: a file
  std::string file;                         // its path; empty: a stage makes it

  /// The files that no stage makes: `file`, and those that belong to it. Errors: as NamedInput::other_files.
  Result<std::vector<std::string>> Files() const;
};

/// A stage and its edges.
struct Node {
  const StageSpec* spec = nullptr;           // owned by the PipelineSpec
  std::optional<NodeId> input;               // absent: none
  std::vector<NamedInputEdge> named_inputs;  // in the order of the type's table, with inherited ones
  std::vector<NodeId> readers;               // stages that have this one as `input`, in the order of the file
  std::vector<NodeId> named_input_readers;   // stages that have this one at a named input, each at most once
  Schema in;                                 // columns of the incoming records
  Schema out;                                // columns of the outgoing records
};

/// Immutable; refers to the PipelineSpec it was built from.
class Graph {
 public:
  /// Adds to `mistakes`: unknown inputs, cycles (naming the stages along them), flows and named inputs that
  /// do not fit, missing columns (naming both stages), and the findings of the types' own checks. A stage
  /// with a null type or a null configuration is not checked, nor are the columns after it. The result is
  /// valid only if no mistake was added. `registry` may be null; otherwise messages suggest a stage that
  /// fits between two that do not.
  static Graph Build(const std::vector<StageSpec>& stages, std::vector<Mistake>& mistakes,
                     const Registry* registry = nullptr);

  /// Inputs come before readers; among equals, the order of the file decides.
  const IdVector<NodeId, Node>& nodes() const { return nodes_; }
  const Node& operator[](NodeId node) const { return nodes_[node]; }
  /// Absent: no stage has that name.
  std::optional<NodeId> Find(std::string_view stage) const;
  /// Returns the stages on the way to `node` along `input`: from the first stage to `node` itself.
  std::vector<NodeId> Lineage(NodeId node) const;
  /// Returns whether `stage` is `node` itself or any stage that `node` is made from, named inputs included.
  bool MadeFrom(NodeId node, NodeId stage) const;

 private:
  IdVector<NodeId, Node> nodes_;
};

/// Draws the stages with their types and the edges with their flow, as Graphviz DOT. `name` is the title.
/// Stages that publish are drawn as cylinders. Values of the configuration are left out: they may be secret.
std::string ToDot(const Graph& graph, std::string_view name);

/// Draws the same as a Mermaid flowchart.
std::string ToMermaid(const Graph& graph, std::string_view name);

}  // namespace pipeline
