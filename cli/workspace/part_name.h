// The name of the part file of a remote source, in the directory of downloads.
#pragma once

#include <string>

#include "dag/pipeline_file/local_input.h"

namespace pipeline {

/// Returns "0123456789abcdef-ja.txt.xz": the digest tells two addresses with one file name apart. A pinned
/// file has one name for all its addresses.
std::string PartName(const LocalInput& input);

}  // namespace pipeline
