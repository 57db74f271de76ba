#include "tests/fuzz/decoder_check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  pipeline::CheckDecoder(*pipeline::Compression::Named("gzip"), {reinterpret_cast<const char*>(data), size});
  return 0;
}
