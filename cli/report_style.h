// The looks of a report and the little that moves in it.
#pragma once

#include <string_view>

namespace pipeline {

std::string_view ReportStyle();   // CSS
std::string_view ReportScript();  // JavaScript; the page says everything without it

}  // namespace pipeline
