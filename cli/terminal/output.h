// Buffered standard output for long results; notices when its reader is gone.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace pipeline {

/// One thread at a time. The process must ignore SIGPIPE. A terminal gets no control characters
/// (base/terminal_text.h), a file or a pipe gets every byte.
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
