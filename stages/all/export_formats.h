// The table of all export formats.
#pragma once

#include <vector>

#include "stages/verify/export_format.h"

namespace pipeline {

/// In the order of their stages in the registry. The table lives as long as the program.
const std::vector<ExportFormat>& ExportFormats();

}  // namespace pipeline
