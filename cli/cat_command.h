// `pipe cat`.
#pragma once

#include "cli/options.h"

namespace pipeline {

int CatCommand(const Options& options);

}  // namespace pipeline
