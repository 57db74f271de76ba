// Checkpoints that somebody copied from a disk to a bucket or back, and those of another run. A directory and
// a bucket have forms of their own (CONTRACT.md, section 10), and a training goes on from the other one's,
// too.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "plugins/native/services.h"
#include "plugins/train/checkpoint_marker.h"
#include "plugins/train/run_directory.h"

namespace pipeline {

/// Gives the checkpoints in `run` that have the form of a bucket the form of a directory. OK also if there
/// are none. A damaged one stays as it is, and a warning names it.
Status TakeBucketForm(const RunDirectory& run, const PluginServices& call);

/// Brings the newest whole checkpoint at `uri`, the location of checkpoints/ in a bucket, that has the form
/// of a directory into `run`. Returns its step; -1: there is none.
Result<std::int64_t> BringDirectoryForm(const std::string& uri, const RunDirectory& run,
                                        const PluginServices& call);

/// True if checkpoints in the form of a directory are at `uri`, the location of checkpoints/.
Result<bool> HasDirectoryForm(const std::string& uri, const PluginStorage& storage);

/// The checkpoints of the run at `uri`, in either form, by step: those that nobody knows to be damaged. A
/// checkpoint that a training makes again with other weights has another name.
Result<std::map<std::int64_t, CheckpointName>> CheckpointsOfRun(const std::string& uri,
                                                                const PluginStorage& storage);

/// The checkpoints that come with the one that is asked for.
enum class Beside { kPinned, kNone };
/// Copies the checkpoint of this step of the run at `uri`, in either form, and those `beside` it that are
/// older into `run`. False: it is not there, or not whole.
Result<bool> BringFromRun(const std::string& uri, std::int64_t step, Beside beside, const RunDirectory& run,
                          const PluginServices& call);

}  // namespace pipeline
