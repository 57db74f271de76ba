// Converts a record to and from a line that a command reads or writes. Rules: stages/lines/exec.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace pipeline {

enum class ExecFraming : std::uint8_t { kLines, kJson };

/// Appends `text` as a line with its LF. kInvalidArgument: with kLines, the text contains an LF.
Status AppendExecLine(ExecFraming framing, std::string_view text, std::string& out);

/// Replaces `text` with the text of `line` (without its LF). kInvalidArgument: with kJson, the line is not
/// an object with a text.
Status ReadExecLine(ExecFraming framing, std::string_view line, std::string& text);

}  // namespace pipeline
