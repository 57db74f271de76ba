// `pipe trainer fit`: checks whether a model fits a slice of TPUs, which need not exist here.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "plugins/native/services.h"

namespace pipeline {

/// `words`: those after `fit`. The answer goes to standard output. kInvalidArgument for wrong words.
Status RunFit(const std::vector<std::string>& words, const PluginServices& call);

}  // namespace pipeline
