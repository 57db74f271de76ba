// Reads on a separate thread, so that decoding and processing overlap; or, if there is little to read, on the
// thread of the caller.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string_view>

#include "base/byte_reader.h"

namespace pipeline {

/// Reads bytes front to back and returns views, not copies. One thread at a time.
class ReadAhead {
 public:
  enum class Where : std::uint8_t { kOwnThread, kCallersThread };
  /// Reads `input` on a new thread, up to 4 MiB ahead of the caller, or in Next, 64 KiB at a time. `stop`:
  /// the source of the token that `input` was opened with; the destructor requests stop and waits for the
  /// thread.
  ReadAhead(std::unique_ptr<ByteReader> input, std::stop_source stop, Where where = Where::kOwnThread);
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// The next bytes, valid until the next call; empty: the end, also for all later calls. kCancelled soon
  /// after any request to `stop`. After an error every call returns the same error.
  Result<std::string_view> Next();

 private:
  class Ring;
  class Direct;
  std::unique_ptr<Ring> ring_;      // null: `direct_` reads
  std::unique_ptr<Direct> direct_;  // null: `ring_` reads
};

}  // namespace pipeline
