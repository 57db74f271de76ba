// What every stage of a graph is made by, and the keys of what its segments leave.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dag/lineage.h"
#include "dag/plan.h"
#include "spec/graph.h"

namespace pipeline {

/// Which end of a stage: a Gather stage leaves pieces where it takes records in, and others where it
/// gives them on.
enum class End : std::uint8_t { kGives, kTakesIn };

/// Added to the name of a Gather stage for the units in which it takes records in: those in which it gives
/// them on have partitions of their own.
inline constexpr std::string_view kTakesInSuffix = ".in";

/// Immutable once made; refers to the graph.
class Lineages {
 public:
  Lineages(const Graph& graph, const Facts& facts);

  const Lineage& Of(int node) const { return lineages_[static_cast<std::size_t>(node)]; }
  /// Of what the first pass leaves: only some keys of a Sink have a say in it.
  Lineage OfPieces(int node, End end) const;
  PieceKeys KeysOf(int node, End end) const;

  /// Files that are gone, and what is taken for them.
  const std::vector<std::string>& reports() const { return reports_; }

 private:
  const Node& At(int node) const { return graph_.nodes()[static_cast<std::size_t>(node)]; }
  void Compute(int node);
  void AddTaken(const Node& node, LineageStage& stage);
  std::vector<std::pair<std::string, std::string>> SourcesOf(const std::string& name,
                                                             const LineageStage& stage);
  const LineageStage* Recorded(const LineageStage& stage) const;

  const Graph& graph_;
  const Facts& facts_;
  std::vector<Lineage> lineages_;  // by node
  std::vector<std::string> reports_;
};

/// STAGE-RECIPE16, below artifacts/.
std::string DirectoryOf(const PieceKeys& keys);

}  // namespace pipeline
