// `pipe trainer fit`: whether a model fits a slice of TPUs that need not be there.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "plugins/train/host_call.h"

namespace pipeline {

/// `words` behind `fit`. The answer goes to standard output. kInvalidArgument for wrong words.
Status RunFit(const std::vector<std::string>& words, const HostCall& call);

}  // namespace pipeline
