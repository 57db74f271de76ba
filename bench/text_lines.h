// Lines of a text, a tokenizer that is trained on them, and batches of them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "dag/records/batch.h"

namespace pipeline {

/// The first 8 MiB of a file, without blank lines.
Result<std::vector<std::string>> ReadLines(const std::string& path);

/// The bytes of a model with 8,000 pieces, and bytes for other characters, trained on the first MiB of
/// `lines`. `options`: more of the library's own.
Result<std::string> TrainOn(const std::vector<std::string>& lines,
                            std::map<std::string, std::string> options = {});

/// Batches of one partition, half a MiB each; twenty lines are a document.
std::vector<Batch> BatchesOf(const std::vector<std::string>& lines);

}  // namespace pipeline
