// The label names by number, from the configuration or from a file with one name per line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "dag/pipeline_file/config.h"
#include "dag/pipeline_file/stage_file.h"

namespace pipeline {

/// The keys `labels` and `labels_file`. The file counts by its bytes, not its path: see LabelFiles.
std::vector<ConfigKey> LabelKeys(std::string_view help_of_labels);
bool HasLabels(const Json& config);
/// Checks as much as possible without reading the file.
Status CheckLabelKeys(const Json& config);

/// The source that stands for the file in a recipe.
inline constexpr std::string_view kLabelsSource = "labels";
/// For StageType::files.
Result<std::vector<StageFile>> LabelFiles(const Json& config);

/// The names in the order of their numbers; empty: none. Reads the file.
Result<std::vector<std::string>> LabelNames(const Json& config);

}  // namespace pipeline
