// One run as one page: HTML with everything in it, that opens anywhere and asks for nothing.
#pragma once

#include <string>

#include "cli/run_record.h"

namespace pipeline {

/// Pure: the same record gives the same page. At most 2 MiB, whatever the record holds: what is too much
/// is summed up or left out, and said so. Nothing of the record is ever taken for markup or script.
std::string ReportPage(const RunRecord& record);

}  // namespace pipeline
