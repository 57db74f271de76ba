// Whatever parses must come back equal from its canonical text, which must be a fixed point.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using pipeline::Json;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const pipeline::Result<Json> parsed = Json::Parse(text);
  if (!parsed.ok()) {
    const std::string_view place = text.find('\n') == std::string_view::npos ? "column " : "line ";
    if (!parsed.status().message().starts_with(place)) std::abort();
    return 0;
  }
  const std::string canonical = parsed->Dump();
  for (const std::string& written : {canonical, parsed->DumpPretty()}) {
    const pipeline::Result<Json> again = Json::Parse(written);
    if (!again.ok() || !(*again == *parsed) || again->Dump() != canonical) std::abort();
  }
  return 0;
}
