// A record as a line that a command reads or writes. Rules: stages/exec.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace pipeline {

enum class ExecFraming : std::uint8_t { kLines, kJson };

/// Appends `text` as a line with its LF. kInvalidArgument: with kLines, the text holds a LF.
Status AppendExecLine(ExecFraming framing, std::string_view text, std::string& out);

/// The text that `line` (without its LF) is, in place of what `text` held. kInvalidArgument: with kJson, it
/// is no object with a text.
Status ReadExecLine(ExecFraming framing, std::string_view line, std::string& text);

}  // namespace pipeline
