// `pipe stats`: prints the lengths and character classes of an artifact's texts.
#pragma once

#include "cli/terminal/command.h"

namespace pipeline {

Command StatsCommand();

}  // namespace pipeline
