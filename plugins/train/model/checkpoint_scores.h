// `pipe eval` of checkpoints: one of them, or all until a training ends.
#pragma once

#include "base/status.h"
#include "plugins/native/services.h"
#include "plugins/train/command_table.h"

namespace pipeline {

/// Scores the checkpoint of `--step`. The scores go to standard output.
Status ScoreCheckpoint(const CommandWords& words, const PluginServices& call);

/// Scores each checkpoint that the training has or makes, until it has ended or the call is stopped. A line
/// for each goes to standard output, and a file for TensorBoard to tensorboard/eval/ of the run. A checkpoint
/// whose file is there was scored before, perhaps on another machine, and is left out; one that the training
/// made again is scored again. A checkpoint that the training removes before it was scored is a warning.
Status FollowCheckpoints(const CommandWords& words, const PluginServices& call);

}  // namespace pipeline
