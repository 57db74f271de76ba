// `pipe reference`: prints the page of all stages and their keys.
#pragma once

#include "cli/terminal/command.h"

namespace pipeline {

Command ReferenceCommand();

}  // namespace pipeline
