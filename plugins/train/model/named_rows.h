// The rows that a command about a model reads, packed ones or pairs of sentences: a directory on this
// machine, or rows from a bucket.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "plugins/native/services.h"

namespace pipeline {

/// The split that is scored if none is named.
inline constexpr const char* kScoredSplit = "validation";

/// Finds the rows of these splits at `place`, a directory or a URI of write_packed or write_bert, and
/// compares them with their manifest. Rows in a bucket are brought into `cache`. Returns the directory on
/// this machine. kNotFound: there are no rows, or a split is missing; kDataLoss: a file differs from the
/// manifest.
Result<std::string> FindRows(std::string place, const std::vector<std::string>& splits,
                             const std::string& cache, const PluginServices& call);

}  // namespace pipeline
