// Checks the files that a plan reads: that they exist, and that their readers accept their names. A source
// that is gone may be replaced by the record of an earlier run. Rules: dag/DESIGN.md.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "dag/books/lineage.h"
#include "dag/pipeline_file/graph.h"
#include "dag/plan/plan.h"
#include "dag/plan/selection.h"
#include "dag/plan/snapshot.h"
#include "dag/plan/stored_outputs.h"

namespace pipeline {

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

/// Refuses (in `plan`) missing and wrong files that its segments have to read; a missing file that no
/// segment reads does not matter. A file that may exist all the same is only reported. Also refuses to
/// publish beside objects that would be overwritten or taken for a part of the artifact.
void CheckInputs(const Graph& graph, const Snapshot& snapshot, Plan& plan);

/// Refuses new publications from a source that is gone: a person has to confirm that it is the one that
/// earlier runs read. An artifact with a manifest, or unfinished at its location, goes on. `vanished` is by
/// node. Call it after CheckInputs; it looks at locations that only planning can name.
Status CheckVanished(const Graph& graph, const Snapshot& snapshot, const StoredOutputs& stored,
                     const std::map<NodeId, VanishedSource>& vanished, Plan& plan);

}  // namespace pipeline
