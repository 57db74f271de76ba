// Sources that are not there, and the earlier runs' words for them that may stand in. Rules: dag/DESIGN.md.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dag/lineage.h"
#include "dag/plan.h"
#include "spec/graph.h"

namespace pipeline {

/// A file is not there, and what it counts by is known all the same: its pin says so.
struct PinnedDigest final : StatusDetail {
  explicit PinnedDigest(const Digest& counts_by) : digest(counts_by) {}
  Digest digest;
};

/// Something that a stage reads is not there, and what an earlier run wrote down of it stands in.
struct VanishedSource {
  std::string missing;   // what is not there, and why
  std::string recorded;  // which files those were, their digests, and the day, where it is known
};

/// The names and digests of a stage's files, as a manifest or the log has them.
using RecordedFiles = std::vector<std::pair<std::string, std::string>>;

/// Whether what cannot be read may only be gone. False for what is there and is wrong.
bool MayBeGone(const Status& missing);

/// Whether `recorded` are the files that are wanted: the same names in the same order, where a pattern stands
/// for all that it matches.
bool AreThoseWanted(const std::vector<Facts::Files::Wanted>& wanted, const RecordedFiles& recorded);

/// The name of a file that is there with other bytes than were recorded; empty where none is.
std::string ChangedOf(const std::vector<Facts::Files::Wanted>& wanted, const RecordedFiles& recorded);

/// "ja.txt.xz, digest 0123…, read on 2026-01-31". `when`: milliseconds since 1970; 0 where nobody knows.
std::string Describe(const RecordedFiles& recorded, std::int64_t when);

/// `node`, and all whose files or records go into what it makes without an artifact between.
std::set<int> RecordLine(const Graph& graph, int node);

/// RecordLine of all stages that a run of `selection` is for.
std::set<int> NeededNodes(const Graph& graph, const Selection& selection);

}  // namespace pipeline
