// Files in the place of artifacts: the model at `init_from`, a file of Hugging Face with the weights or with
// the names of several such files, and the tokenizer.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pipeline {

/// The names of a tokenizer's file in its artifact, beside rows and in an export: a SentencePiece model, or
/// the pieces of BERT.
inline constexpr std::array<std::string_view, 2> kTokenizerFiles = {"tokenizer.model", "vocab.txt"};

inline bool IsTokenizerFile(std::string_view name) {
  return std::count(kTokenizerFiles.begin(), kTokenizerFiles.end(), name) > 0;
}

/// Returns the paths of the files with weights that the index at `path` names; none if `path` has the weights
/// itself, or is not there. They lie in the directory of the index. kInvalidArgument: the trainer reads no
/// such model.
Result<std::vector<std::string>> OtherFilesOfModel(const std::string& path);

/// The same for a tokenizer's file at `tokenizer`: none.
Result<std::vector<std::string>> OtherFilesOfTokenizer(const std::string& path);

}  // namespace pipeline
