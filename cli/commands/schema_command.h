// `pipe schema`: prints the JSON Schema of pipeline files.
#pragma once

#include "cli/terminal/command.h"

namespace pipeline {

Command SchemaCommand();

}  // namespace pipeline
