// `pipe sample`: writes text with a model that `train` made.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "plugins/native/services.h"

namespace pipeline {

/// `words`: without the command's name. The text goes to standard output. kInvalidArgument for wrong words.
Status RunSample(const std::vector<std::string>& words, const PluginServices& call);

}  // namespace pipeline
