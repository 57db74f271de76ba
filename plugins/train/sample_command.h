// `pipe sample`: text from a model that `train` made.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "plugins/train/host_call.h"

namespace pipeline {

/// The run directory that a person means: `place` itself, or the newest below `place`/runs. kNotFound where
/// none is.
Result<std::string> FindRun(const std::string& place);
/// The same in a bucket, where nothing tells which is the newest: kInvalidArgument names those there are.
Result<std::string> FindRunElsewhere(const std::string& place, const HostStorage& storage);

/// `words` without the command's name. What the model writes goes to standard output. kInvalidArgument for
/// wrong words.
Status RunSample(const std::vector<std::string>& words, const HostCall& call);

}  // namespace pipeline
