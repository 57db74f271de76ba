// Any bytes as a part of the list of names at a place, and any names: what was listed is read back, and what
// is read is what a part of these names says.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dag/location/location_names.h"
#include "tests/fuzz/require.h"
#include "text/utf8.h"

namespace {

using namespace pipeline;

void CheckRead(std::string_view text) {
  const std::optional<std::vector<std::string>> names = ParseNamesPart(text);
  if (!names) return;
  const NameSet set(names->begin(), names->end());
  for (const NamesPart& part : NamesPartsOf(set)) Require(ParseNamesPart(part.text).has_value());
}

void CheckListed(const NameSet& names) {
  NameSet read;
  for (const NamesPart& part : NamesPartsOf(names)) {
    const std::optional<std::vector<std::string>> listed = ParseNamesPart(part.text);
    Require(listed.has_value());
    read.insert(listed->begin(), listed->end());
  }
  Require(read == names);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CheckRead(text);
  NameSet names;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\0', at), text.size());
    if (const std::string_view name = text.substr(at, end - at); IsCleanUtf8(name)) names.emplace(name);
    at = end + 1;
  }
  CheckListed(names);
  return 0;
}
