// Files in the place of artifacts: the model at `init_from`, a file of Hugging Face with the weights or with
// the names of several such files, and the tokenizer.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace pipeline {

/// Returns the paths of the files with weights that the index at `path` names; none if `path` has the weights
/// itself, or is not there. They lie in the directory of the index. kInvalidArgument: the trainer reads no
/// such model.
Result<std::vector<std::string>> OtherFilesOfModel(const std::string& path);

/// The same for a tokenizer.model at `tokenizer`: none.
Result<std::vector<std::string>> OtherFilesOfTokenizer(const std::string& path);

}  // namespace pipeline
