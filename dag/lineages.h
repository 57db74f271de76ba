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
#include "dag/plan.h"
#include "dag/vanished_source.h"

namespace pipeline {

/// An end of a stage. A barrier stage has partition outputs where it takes records in, and others where it
/// gives them.
enum class End : std::uint8_t { kGives, kTakesIn };

/// Suffix of a barrier stage's name in the units that take records in. The units that give them have
/// partitions of their own.
inline constexpr std::string_view kTakesInSuffix = ".in";

/// Immutable once made; refers to the graph.
class Lineages {
 public:
  Lineages(const Graph& graph, const Snapshot& snapshot, const Selection& selection);

  const Lineage& Of(int node) const { return lineages_[static_cast<std::size_t>(node)]; }
  /// The lineage of the partition outputs: only some keys of a Sink affect them.
  Lineage OfOutputs(int node, End end) const;
  OutputKeys KeysOf(int node, End end) const;

  /// Reports on files that are gone, and on their replacements.
  const std::vector<std::string>& reports() const { return reports_; }
  /// The same by node.
  const std::map<int, VanishedSource>& vanished() const { return vanished_; }
  /// Not OK: an input of `node` is gone and has no replacement, so its recipe is meaningless.
  const Status& unknown(int node) const { return unknown_[static_cast<std::size_t>(node)]; }

 private:
  const Node& At(int node) const { return graph_.nodes()[static_cast<std::size_t>(node)]; }
  void Compute(int node);
  void AddSideInputs(int number, LineageStage& stage);
  RecordedFiles SourcesOf(int node, const LineageStage& stage);
  using Fits = std::function<bool(const LineageStage& old)>;
  const LineageStage* Recorded(int node, const LineageStage& stage, const Fits& fits) const;
  std::int64_t WhenRecorded(const LineageStage& old) const;
  void Report(int node, const Status& missing, const RecordedFiles& recorded, std::int64_t when);

  const Graph& graph_;
  const Snapshot& snapshot_;
  const std::set<int> needed_;     // nodes whose files or records the run may need
  std::vector<Lineage> lineages_;  // by node, like unknown_
  std::vector<Status> unknown_;
  std::map<int, VanishedSource> vanished_;
  std::vector<std::string> reports_;
};

/// Returns STAGE-RECIPE16, a directory below artifacts/.
std::string DirectoryOf(const OutputKeys& keys);

}  // namespace pipeline
