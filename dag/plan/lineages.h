// The lineage of every stage of a graph, and the keys of the segments' partition outputs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "dag/books/lineage.h"
#include "dag/pipeline_file/graph.h"
#include "dag/plan/inputs.h"
#include "dag/plan/partition_outputs.h"
#include "dag/plan/selection.h"
#include "dag/plan/snapshot.h"

namespace pipeline {

/// An end of a stage. A barrier stage has partition outputs where it takes records in, and others where it
/// gives them.
enum class End : std::uint8_t { kGives, kTakesIn };

/// Suffix of a barrier stage's name in the units that take records in. The units that give them have
/// partitions of their own.
inline constexpr std::string_view kTakesInSuffix = ".in";

/// Suffix of a stage's type in the recipe of the partition outputs of its first pass.
inline constexpr std::string_view kFirstPassSuffix = "/pieces";

/// Front of the name of a source whose digest is a value that the stage takes from the name of a file.
inline constexpr std::string_view kTakenFromName = "name of ";

/// Immutable once made; refers to the graph.
class Lineages {
 public:
  Lineages(const Graph& graph, const Snapshot& snapshot, const Selection& selection);

  /// For an artifact that is reused: how it was made.
  const Lineage& Of(NodeId node) const { return lineages_[node]; }
  /// Returns the versions that an artifact was made with and the present ones, if it is reused although they
  /// differ: a line. Empty: it is not.
  std::string OtherVersions(NodeId node) const;
  /// The lineage of the partition outputs: only some keys of a Sink affect them.
  Lineage OfOutputs(NodeId node, End end) const;
  OutputKeys KeysOf(NodeId node, End end) const;

  /// Reports on files that are gone, and on their replacements.
  const std::vector<std::string>& reports() const { return reports_; }
  /// The same by node.
  const std::map<NodeId, VanishedSource>& vanished() const { return vanished_; }
  /// Not OK: an input of `node` is gone and has no replacement, so its recipe is meaningless.
  const Status& unknown(NodeId node) const { return unknown_[node]; }

 private:
  const Node& At(NodeId node) const { return graph_[node]; }
  void Compute(NodeId node);
  void TakeReused(NodeId node, Lineage& lineage);
  void AddSideInputs(NodeId number, LineageStage& stage);
  RecordedFiles SourcesOf(NodeId node, const LineageStage& stage);
  using Fits = std::function<bool(const LineageStage& old)>;
  const LineageStage* Recorded(NodeId node, const LineageStage& stage, const Fits& fits) const;
  std::int64_t WhenRecorded(const LineageStage& old) const;
  void Report(NodeId node, const Status& missing, const RecordedFiles& recorded, std::int64_t when);

  const Graph& graph_;
  const Snapshot& snapshot_;
  const Selection& selection_;
  const std::set<NodeId> needed_;  // nodes whose files or records the run may need
  IdVector<NodeId, Lineage> lineages_;
  IdVector<NodeId, Status> unknown_;
  std::map<NodeId, VanishedSource> vanished_;
  std::vector<std::string> reports_;
  std::map<NodeId, std::string> other_versions_;  // of artifacts that are reused
};

/// Chooses the reading rules of the stages whose file does not: the first ones for everything that earlier
/// work in `snapshot` was made from by them, the newest ones for the rest. `graph` is that of `spec`.
void ChooseRules(const Graph& graph, const Snapshot& snapshot, PipelineSpec& spec);

/// Returns a line about stages that keep the first rules, and what the newest would change. Empty: none keeps
/// them.
std::string KeptRules(const Graph& graph);

/// Returns STAGE-RECIPE16, a directory below artifacts/.
std::string DirectoryOf(const OutputKeys& keys);

}  // namespace pipeline
