// Any bytes as a manifest: one that is understood comes back from its own encoding.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "dag/books/manifest.h"

namespace {

using namespace pipeline;

void CheckRoundTrip(const Manifest& manifest) {
  const std::string text = EncodeManifest(manifest);
  const Result<Manifest> again = ParseManifest(text, "again");
  if (!again.ok() || EncodeManifest(*again) != text) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Result<Manifest> manifest = ParseManifest({reinterpret_cast<const char*>(data), size}, "input");
  if (manifest.ok()) CheckRoundTrip(*manifest);
  return 0;
}
