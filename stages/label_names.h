// The names of labels by number, in the configuration or in a file with a name per line.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "spec/registry.h"

namespace pipeline {

/// `labels` and `labels_file`. The file counts by its bytes, wherever it lies: see LabelFiles.
std::vector<ConfigKey> LabelKeys(std::string_view help_of_labels);
bool HasLabels(const Json& config);
/// What can be said without reading the file.
Status CheckLabelKeys(const Json& config);

/// For StageType::files.
Result<std::vector<StageFile>> LabelFiles(const Json& config);

/// The names in the order of their numbers; empty where there are none. Reads the file.
Result<std::vector<std::string>> LabelNames(const Json& config);

}  // namespace pipeline
