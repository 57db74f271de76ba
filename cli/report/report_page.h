// The report of one run: a self-contained HTML page without network requests.
#pragma once

#include <string>

#include "cli/report/run_record.h"

namespace pipeline {

/// Pure: the same record gives the same page. At most 2 MiB for any record: excess content is summarised or
/// left out, and the page says so. Nothing in the record is ever interpreted as markup or script.
std::string ReportPage(const RunRecord& record);

}  // namespace pipeline
