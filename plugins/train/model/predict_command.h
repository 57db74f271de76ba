// `pipe predict`: answers lines of text with a model that `train` made.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "plugins/native/services.h"

namespace pipeline {

/// `words`: without the command's name. An answer for each line goes to standard output, or to a file that is
/// complete or as before. kInvalidArgument for wrong words.
Status RunPredict(const std::vector<std::string>& words, const PluginServices& call);

}  // namespace pipeline
