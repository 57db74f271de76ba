// Loose JSON: strict objects stay as they are, and what was made strict once has nothing loose left.
#include <string>
#include <vector>

#include "base/json.h"
#include "formats/loose_json.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pipeline;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::vector<std::string> wanted = {"text", "label"};
  const std::optional<std::string> strict = StrictInUnwanted(text, wanted);
  if (Json::Parse(text).ok()) Require(!strict);
  if (strict) Require(!StrictInUnwanted(*strict, wanted));
  const std::optional<std::string> whole = WithoutLoneSurrogates(text);
  if (Json::Parse(text).ok()) Require(!whole);
  if (whole) Require(!WithoutLoneSurrogates(*whole));
  (void)FormOfNoObject(text, false);
  Require(ListOfObjectsIn(text).size() <= text.size());
  return 0;
}
