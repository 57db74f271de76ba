#include "cli/commands/print_line.h"

#include <cstdio>

#include "base/terminal_text.h"

namespace pipeline {

void PrintLine(std::string_view line) { std::printf("%s\n", TerminalText(line).c_str()); }

}  // namespace pipeline
