// Decodes bzip2 with libbz2. Rules and source of the format: formats/compression.md.
#pragma once

#include <memory>
#include <string_view>

#include "base/byte_reader.h"
#include "base/result.h"

namespace pipeline {

/// Returns true if `front` can be the beginning of bzip2 data. It needs 4 bytes, and looks at 10 if there are
/// as many.
bool IsBzip2(std::string_view front);

/// Returns a reader of the decoded bytes of all streams of `input`, one after the other. It checks the CRCs
/// of blocks and streams. kDataLoss: the data are damaged, truncated or empty; the message has the offset in
/// `input`. kResourceExhausted: no memory. Errors of `input` are passed on.
Result<std::unique_ptr<ByteReader>> NewBzip2Reader(std::unique_ptr<ByteReader> input);

}  // namespace pipeline
