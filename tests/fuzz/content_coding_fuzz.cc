// The first byte names a coding; the rest is what a server sends.
#include <array>
#include <cstdint>
#include <string>

#include "formats/compression.h"
#include "tests/fuzz/require.h"
#include "tests/support/memory_file.h"

namespace pipeline {
namespace {

constexpr std::array<std::string_view, 4> kCodings = {"br", "deflate", "gzip", "zstd"};

/// Until its end, an error, or 1 MiB: a few bytes can stand for gigabytes.
bool Decode(std::string_view coding, const std::string& bytes, std::size_t chunk, std::string& text) {
  auto reader = NewContentDecoder(coding, std::make_unique<MemoryReader>(bytes, chunk));
  Require(reader.ok());
  std::string piece(1 + bytes.size() % 1000, '\0');
  while (text.size() < (1u << 20)) {
    const Result<std::size_t> got = (*reader)->Read(piece);
    if (!got.ok())
      Require(got.status().code() == Code::kDataLoss || got.status().code() == Code::kUnimplemented ||
              got.status().code() == Code::kResourceExhausted);
    if (!got.ok()) return false;
    if (*got == 0) return true;
    text.append(piece, 0, *got);
  }
  text.resize(1u << 20);
  return true;
}

}  // namespace
}  // namespace pipeline

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view coding = pipeline::kCodings[data[0] % pipeline::kCodings.size()];
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::string whole, pieces;
  const bool is_good = pipeline::Decode(coding, bytes, bytes.size() + 1, whole);
  pipeline::Require(is_good == pipeline::Decode(coding, bytes, 1, pieces));
  if (is_good) pipeline::Require(whole == pieces);
  return 0;
}
