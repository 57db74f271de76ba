// The index of a Megatron data set: any bytes are read or refused; what was read, written again, is the same.
#include <string_view>

#include "formats/megatron_index.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace pipeline;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto index = ParseMegatronIndex(bytes);
  Require(index.ok() ? EncodeMegatronIndex(*index) == bytes : index.status().code() == Code::kDataLoss);
  return 0;
}
