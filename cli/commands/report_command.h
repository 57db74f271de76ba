// `pipe report`: writes the page of the last run again.
#pragma once

#include "cli/terminal/command.h"

namespace pipeline {

Command ReportCommand();

}  // namespace pipeline
