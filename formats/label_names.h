// The names of labels by number, as TensorFlow Datasets keeps them: a file with a name on each line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pipeline {

/// Reads such a file. White space at the ends of lines and blank lines do not count. kInvalidArgument as
/// CheckLabelNames.
Result<std::vector<std::string>> ParseLabelNames(std::string_view text);

/// The bytes of such a file.
std::string LabelNamesText(const std::vector<std::string>& names);

/// OK, or kInvalidArgument saying what is allowed: at least one name, none twice, each of one line of UTF-8
/// without control characters and without white space at its ends.
Status CheckLabelNames(const std::vector<std::string>& names);

}  // namespace pipeline
