// What ParsePackedInfo takes, written again, reads as the same.
#include <string_view>

#include "stages/export/packed/packed_info.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace pipeline;
  const auto info = ParsePackedInfo({reinterpret_cast<const char*>(data), size});
  if (!info.ok()) return 0;
  const auto again = ParsePackedInfo(PackedInfoJson(*info));
  Require(again.ok() && *again == *info);
  return 0;
}
