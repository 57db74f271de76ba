// `pipe report`: writes the page of the last run again.
#pragma once

#include "cli/terminal/options.h"

namespace pipeline {

int ReportCommand(const Options& options);

}  // namespace pipeline
