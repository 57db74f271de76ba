// What a plugin says of itself either becomes stage types that are whole, or is refused with its place.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "plugins/description_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pipeline;
  const auto parsed = ParseDescription("p", {reinterpret_cast<const char*>(data), size});
  if (!parsed.ok()) {
    if (parsed.status().code() != Code::kInvalidArgument || parsed.status().message().empty()) std::abort();
    return 0;
  }
  for (const StageType& type : (*parsed)->stages) {
    if ((*parsed)->Find("p", type.name.substr(2)) != &type || type.version == 0) std::abort();
    for (const ConfigKey& key : type.keys)
      if (key.name.empty() || (key.type == ValueType::kChoice) == key.choices.empty()) std::abort();
  }
  return 0;
}
