// `pipe doctor`: checks this machine, the credentials and the named locations.
#pragma once

#include "cli/terminal/command.h"

namespace pipeline {

Command DoctorCommand();

}  // namespace pipeline
