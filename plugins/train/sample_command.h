// `pipe sample`: writes text with a model that `train` made.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "plugins/train/host_call.h"

namespace pipeline {

/// Finds the run directory for a location: `place` itself, or the newest below `place`/runs. kNotFound:
/// there is none.
Result<std::string> FindRun(const std::string& place);
/// As FindRun, in a bucket. A bucket does not tell which run is the newest: kInvalidArgument names the
/// existing ones.
Result<std::string> FindRunElsewhere(const std::string& place, const HostStorage& storage);

/// `words`: without the command's name. The text goes to standard output. kInvalidArgument for wrong words.
Status RunSample(const std::vector<std::string>& words, const HostCall& call);

}  // namespace pipeline
