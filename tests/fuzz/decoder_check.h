// What every decoder must keep, whatever it is fed.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "formats/compression.h"
#include "tests/fuzz/require.h"
#include "tests/support/memory_file.h"

namespace pipeline {

struct Decoded {
  std::string text;
  Status status;
};

/// Decodes until the end, an error, or 1 MiB: a few bytes can stand for gigabytes.
inline Decoded DecodeSome(Compression compression, std::string_view bytes, std::size_t chunk,
                          std::size_t piece) {
  Decoded decoded;
  auto reader = compression.Decode(std::make_unique<MemoryReader>(std::string(bytes), chunk));
  if (!reader.ok()) {
    decoded.status = reader.status();
    return decoded;
  }
  std::string buffer(piece, '\0');
  while (decoded.text.size() < (1u << 20)) {
    const Result<std::size_t> got = (*reader)->Read(buffer);
    if (!got.ok()) {
      decoded.status = got.status();
      const Result<std::size_t> again = (*reader)->Read(buffer);
      Require(!again.ok() && again.status().message() == decoded.status.message());
      return decoded;
    }
    Require(*got <= piece);
    if (*got == 0) return decoded;
    decoded.text.append(buffer, 0, *got);
  }
  decoded.text.resize(1u << 20);
  return decoded;
}

/// Pieces of input and output do not matter: the same text, ending in the same way. Near damage the
/// amount of text before the error may differ, but not its bytes.
inline void CheckDecoder(Compression compression, std::string_view bytes) {
  const Decoded whole = DecodeSome(compression, bytes, bytes.size() + 1, 1 << 16);
  for (const std::size_t chunk : {1u, 5u}) {
    const Decoded pieces = DecodeSome(compression, bytes, chunk, 1 + bytes.size() % 1000);
    Require(whole.status.ok() == pieces.status.ok());
    if (whole.status.ok()) {
      Require(whole.text == pieces.text);
    } else {
      Require(whole.status.code() == pieces.status.code() && whole.status.code() != Code::kInternal);
      const std::size_t common = std::min(whole.text.size(), pieces.text.size());
      Require(whole.text.compare(0, common, pieces.text, 0, common) == 0);
    }
  }
}

}  // namespace pipeline
