// The records that a command makes from one partition, and the lines that it reads and writes. Rules:
// stages/lines/exec.md.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/status.h"
#include "dag/records/reader_stage.h"

namespace pipeline {

enum class ExecFraming : std::uint8_t { kLines, kJson };

/// Appends `text` as a line with its LF. kInvalidArgument: with kLines, the text contains an LF.
Status AppendExecLine(ExecFraming framing, std::string_view text, std::string& out);

/// Replaces `text` with the text of `line` (without its LF). kInvalidArgument: with kJson, the line is not
/// an object with a text.
Status ReadExecLine(ExecFraming framing, std::string_view line, std::string& text);

/// The configuration of the stage, see stages/lines/exec.md.
struct ExecRule {
  std::string stage;  // its name, for messages
  std::vector<std::string> command;
  ExecFraming framing = ExecFraming::kLines;
  bool same_lines = true;
  std::chrono::milliseconds timeout{600'000};
  std::uint64_t max_output = std::uint64_t{4} << 30;
  std::size_t max_line = 8 << 20;
  std::size_t max_unanswered = 256 << 20;  // bytes of heads and columns of records without an answer
};

/// Starts the command at the first Next. `rule` outlives the Source.
std::unique_ptr<Source> OpenExecSource(const ExecRule& rule, ReaderRequest request);

}  // namespace pipeline
