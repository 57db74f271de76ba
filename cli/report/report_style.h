// The style sheet and the small script of a report.
#pragma once

#include <string_view>

namespace pipeline {

std::string_view ReportStyle();   // CSS
std::string_view ReportScript();  // JavaScript; the page is complete without it

}  // namespace pipeline
