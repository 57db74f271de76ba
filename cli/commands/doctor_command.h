// `pipe doctor`: checks this machine, the credentials and the named locations.
#pragma once

#include "cli/terminal/options.h"

namespace pipeline {

int DoctorCommand(const Options& options);

}  // namespace pipeline
