// Text of others, such as names and messages of servers, on its way to a terminal.
#pragma once

#include <string>
#include <string_view>

namespace pipeline {

/// `text` with `?` for each control character but LF and tab: C0, DEL, and C1 as UTF-8 writes it (C2 80 to C2
/// 9F). A terminal takes them for commands. Other bytes stay, also those that are no UTF-8.
std::string TerminalText(std::string_view text);

}  // namespace pipeline
