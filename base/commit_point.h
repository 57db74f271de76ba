// Named points between two steps of a commit, at which tests kill the process.
#pragma once

#include <functional>
#include <string_view>

namespace pipeline {

/// Called at every commit point, from any thread. Empty by default, which costs one load.
using CommitPointHook = std::function<void(std::string_view point)>;

/// Called by cli/ and tests before threads start. Returns the previous hook.
CommitPointHook SetCommitPointHook(CommitPointHook hook);

/// Marks the point `point`, e.g. "object.visible". All names: kCommitPoints.
void PassCommitPoint(std::string_view point);

/// All names that PassCommitPoint receives, in the order of a run.
inline constexpr std::string_view kCommitPoints[] = {
    "object.written",       // storage: all bytes in the temporary, not yet synced
    "object.synced",        // storage: durable, not yet visible
    "object.visible",       // storage: renamed
    "partition.committed",  // dag: its objects exist, its log line does not
    "partition.logged",     // dag: its log line exists
    "input.ended",          // dag: all partitions of an input are logged, its end line is not
    "cuts.logged",          // dag: a scan has logged the cuts so far
    "names.listed",         // dag: the names of future objects are listed, no such object exists
    "shard.committed",      // dag: the shard exists, its log line does not
    "shard.logged",         // dag: its log line exists
    "sidecars.committed",   // dag: the objects before the manifest exist
    "manifest.committed",   // dag: the manifest exists, the objects after it do not
    "artifact.published",   // dag: all objects exist
    "outputs.unneeded",     // dag: nothing unfinished reads a directory of partition outputs, all are there
    "output.removed",       // dag: one of them is removed
};

}  // namespace pipeline
