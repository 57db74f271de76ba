// `pipe doctor`: whether this machine, who we are and the places that are named can do what they must.
#pragma once

#include "cli/options.h"

namespace pipeline {

int DoctorCommand(const Options& options);

}  // namespace pipeline
