// `pipe stats`: how long the texts of an artifact are, and of which characters.
#pragma once

#include "cli/options.h"

namespace pipeline {

int StatsCommand(const Options& options);

}  // namespace pipeline
