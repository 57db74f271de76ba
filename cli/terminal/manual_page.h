// The manual page pipe(1).
#pragma once

#include <string>
#include <string_view>

#include "cli/terminal/command_table.h"

namespace pipeline {

/// In the format of man(7); `version` is in its footer.
std::string ManualPage(const CommandTable& table, std::string_view version);

}  // namespace pipeline
