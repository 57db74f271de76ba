// Prints, and checks at the end of the process that standard output was written.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace pipeline {

/// Prints `text` and returns kExitDone; FinishStandardOutput tells whether it was written.
int PrintText(std::string_view text);

/// Prints `line` and LF to standard output, without control characters.
void PrintLine(std::string_view line);

/// The exit code of a command that ends with `exit_code`: 1, after an error message, instead of 0 if its
/// output was not written completely. A reader that went away had enough.
int FinishStandardOutput(int exit_code);

/// Buffered standard output for long results; notices when its reader is gone. One thread at a time. The
/// process must ignore SIGPIPE. A terminal gets no control characters (base/terminal_text.h), a file or a
/// pipe gets every byte.
class Output {
 public:
  explicit Output(int descriptor);
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void Write(std::string_view bytes);
  /// False once nothing more can be written: producing more is useless.
  bool open() const { return open_; }
  /// Writes the rest of the buffer. OK also if the reader went away: it had enough.
  Status Finish();

 private:
  void Flush(bool all);

  const int descriptor_;
  const bool is_terminal_;
  std::string buffer_;
  bool open_ = true;
  Status failure_;
};

/// Finishes `out`. Returns `exit_code`; kExitFailed, after an error message, if it could not be written.
int FinishOutput(Output& out, int exit_code);

}  // namespace pipeline
