// Reading on a thread of its own, so that decoding and what is done with it overlap.
#pragma once

#include <memory>
#include <stop_token>

#include "base/byte_reader.h"

namespace pipeline {

/// Runs `input` on a new thread, up to 4 MiB ahead of the caller. `stop` is the source of the token that
/// `input` was opened with: it is set when the reader is destroyed, which then waits for the thread.
/// Reads return kCancelled soon after it is set by anybody.
std::unique_ptr<ByteReader> NewReadAhead(std::unique_ptr<ByteReader> input, std::stop_source stop);

}  // namespace pipeline
