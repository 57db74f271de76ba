// Sources that are gone, and the records of earlier runs that may replace them. Rules: dag/DESIGN.md.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dag/books/lineage.h"
#include "dag/pipeline_file/graph.h"
#include "dag/plan/selection.h"
#include "dag/plan/snapshot.h"

namespace pipeline {

/// Detail of the failure for a missing file: its digest is known all the same, because it is pinned.
struct PinnedDigest final : StatusDetail {
  explicit PinnedDigest(const Digest& counts_by) : digest(counts_by) {}
  Digest digest;
};

/// A source that is gone, and that the record of an earlier run replaces.
struct VanishedSource {
  std::string missing;   // the missing source, and why it is missing
  std::string recorded;  // the recorded files, their digests, and the day, if it is known
};

/// Names and digests of a stage's files, from a manifest or the log.
using RecordedFiles = std::vector<LineageSource>;

/// Returns whether an unreadable source may simply be gone. False: it is there and it is wrong.
bool MayBeGone(const Status& missing);

/// Returns whether `recorded` are the wanted files: the same names in the same order, where a pattern
/// stands for all names that it matches.
bool AreThoseWanted(const std::vector<Snapshot::Files::Wanted>& wanted, const RecordedFiles& recorded);

/// Returns the name of an existing file with other bytes than recorded; empty: there is none.
std::string ChangedOf(const std::vector<Snapshot::Files::Wanted>& wanted, const RecordedFiles& recorded);

/// Returns "ja.txt.xz, digest 0123…, read on 2026-01-31". `when`: milliseconds since 1970; 0: unknown.
std::string Describe(const RecordedFiles& recorded, std::int64_t when);

/// Returns `node` and all nodes whose files or records go into its output without an artifact between.
std::set<NodeId> RecordLine(const Graph& graph, NodeId node);

/// Returns the RecordLine of all stages that a run of `selection` is for.
std::set<NodeId> NeededNodes(const Graph& graph, const Selection& selection);

}  // namespace pipeline
