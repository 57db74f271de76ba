// Reading on a thread of its own, so that decoding and what is done with it overlap.
#pragma once

#include <memory>
#include <stop_token>
#include <string_view>

#include "base/byte_reader.h"

namespace pipeline {

/// Bytes front to back, lent and not copied. One thread at a time.
class ReadAhead {
 public:
  /// Runs `input` on a new thread, up to 4 MiB ahead of the caller. `stop` is the source of the token that
  /// `input` was opened with: it is set when this is destroyed, which then waits for the thread.
  ReadAhead(std::unique_ptr<ByteReader> input, std::stop_source stop);
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// The next bytes, valid until the next call; empty at the end, and so it stays. kCancelled soon after
  /// `stop` is set by anybody; after an error every further call gives the same error.
  Result<std::string_view> Next();

 private:
  class Ring;
  std::unique_ptr<Ring> ring_;
};

}  // namespace pipeline
