// Metadata that is read is written again as it was meant; an element that is read is the one that is written;
// a description that is read comes back.
#include <string>
#include <string_view>

#include "stages/export/tfdata/tfdata.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace pipeline;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto metadata = ParseTfdataMetadata(bytes); metadata.ok()) {
    const auto again = ParseTfdataMetadata(TfdataMetadataBytes(*metadata));
    Require(again.ok() && *again == *metadata);
  }
  if (const auto id = ParseTfdataElement(bytes); id.ok()) {
    std::string packed, framed;
    PackIds(packed, {&*id, 1}, 4);
    AppendTfdataElements(framed, packed, 4);
    Require(framed.substr(12, 10) == bytes);
  }
  if (const auto info = ParseTfdataInfo(bytes); info.ok()) {
    const auto again = ParseTfdataInfo(TfdataInfoJson(*info));
    Require(again.ok() && *again == *info);
  }
  return 0;
}
