// `pipe verify`.
#pragma once

#include "cli/terminal/command.h"

namespace pipeline {

Command VerifyCommand();

}  // namespace pipeline
