// `pipe runs`: lists the runs of a work directory.
#pragma once

#include "cli/terminal/command.h"

namespace pipeline {

Command RunsCommand();

}  // namespace pipeline
