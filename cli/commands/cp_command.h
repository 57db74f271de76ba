// `pipe cp`: copies one object, or everything below a location, between any two stores.
#pragma once

#include "cli/terminal/command.h"

namespace pipeline {

Command CpCommand();

}  // namespace pipeline
