// The commands about a model that `train` made.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "plugins/native/services.h"

namespace pipeline {

// `words` of each: without the command's name. kInvalidArgument for wrong words.

/// `pipe eval`: scores the model, or checkpoints of its training, on rows. The scores go to standard
/// output.
Status RunEval(const std::vector<std::string>& words, const PluginServices& call);

/// `pipe export`: exports the model of a checkpoint to a directory, which is complete or not there.
Status RunExport(const std::vector<std::string>& words, const PluginServices& call);

/// `pipe predict`: answers lines of text. An answer for each line goes to standard output, or to a file that
/// is complete or as before.
Status RunPredict(const std::vector<std::string>& words, const PluginServices& call);

/// `pipe sample`: writes text. The text goes to standard output.
Status RunSample(const std::vector<std::string>& words, const PluginServices& call);

/// `pipe tensorboard`: serves the curves of runs until a stop. Its address goes to standard output.
Status RunTensorBoard(const std::vector<std::string>& words, const PluginServices& call);

}  // namespace pipeline
