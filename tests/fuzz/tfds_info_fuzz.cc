// What ParseTfdsInfo takes, written again, reads as the same data set.
#include <string>
#include <string_view>

#include "stages/export/tfds/tfds.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace pipeline;
  const auto info = ParseTfdsInfo({reinterpret_cast<const char*>(data), size});
  if (!info.ok()) {
    Require(info.status().code() == Code::kInvalidArgument && !info.status().message().empty());
    return 0;
  }
  const std::string once = TfdsInfoJson(*info);
  const auto back = ParseTfdsInfo(once);
  Require(back.ok() && *back == *info);
  Require(TfdsInfoJson(*back) == once);
  return 0;
}
