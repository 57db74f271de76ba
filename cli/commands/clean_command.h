// `pipe clean`: removes intermediates.
#pragma once

#include "cli/terminal/command.h"

namespace pipeline {

Command CleanCommand();

}  // namespace pipeline
