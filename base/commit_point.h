// Named places between two steps of a commit, where tests pull the plug.
#pragma once

#include <functional>
#include <string_view>

namespace pipeline {

/// Called at every commit point, from any thread. Empty by default, which costs one load.
using CommitPointHook = std::function<void(std::string_view point)>;

/// Set by cli/ and tests before threads start; returns what was there.
CommitPointHook SetCommitPointHook(CommitPointHook hook);

/// Marks the place `point`, e.g. "partition.renamed". All names: kCommitPoints.
void PassCommitPoint(std::string_view point);

/// Every name that PassCommitPoint is called with, in the order of a run.
inline constexpr std::string_view kCommitPoints[] = {
    "object.written",       // storage: all bytes in the temporary, not yet synced
    "object.synced",        // storage: durable, not yet visible
    "object.visible",       // storage: renamed
    "partition.committed",  // dag: its objects stand, its log line does not
    "partition.logged",     // dag: its log line stands
    "input.ended",          // dag: all partitions of an input logged, its end line not
    "names.listed",         // dag: objects of these names may come, none of them stands
    "shard.committed",      // dag: shard stands, its log line does not
    "shard.logged",         // dag
    "sidecars.committed",   // dag: the objects before the manifest stand
    "manifest.committed",   // dag: the manifest stands, what follows it does not
    "artifact.published",   // dag: all stands
};

}  // namespace pipeline
