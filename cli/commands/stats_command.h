// `pipe stats`: prints the lengths and character classes of an artifact's texts.
#pragma once

#include "cli/terminal/options.h"

namespace pipeline {

int StatsCommand(const Options& options);

}  // namespace pipeline
