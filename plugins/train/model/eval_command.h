// `pipe eval`: scores a model that `train` made on packed rows.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "plugins/native/services.h"

namespace pipeline {

/// `words`: without the command's name. The scores go to standard output. kInvalidArgument for wrong words.
Status RunEval(const std::vector<std::string>& words, const PluginServices& call);

}  // namespace pipeline
