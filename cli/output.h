// Standard output for results that may be long: buffered, and with an eye on whoever reads it.
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
  /// False once nothing more can be written: there is no reason to make more.
  bool open() const { return open_; }
  /// Writes what is still held. OK, too, when the reader went away: it had enough.
  Status Finish();

 private:
  void Flush(bool all);

  const int descriptor_;
  const bool is_terminal_;
  std::string buffer_;
  bool open_ = true;
  Status failure_;
};

}  // namespace pipeline
