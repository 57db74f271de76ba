// Marks in any text: titles only add lines, no line end is left in a line, and what comes out has no marks to
// cut at.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "formats/wiki40b.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::string lines, with_titles = "x";
  pipeline::AppendWiki40bLines(text, false, lines);
  pipeline::AppendWiki40bLines(text, true, with_titles);
  pipeline::Require(lines.size() <= text.size());
  pipeline::Require(lines.size() + 1 <= with_titles.size());
  // Two halves of a mark may meet where one is cut out: of `_NEWLINE_` they would have to be in one line.
  for (std::string_view rest = lines; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    pipeline::Require(rest.substr(0, end).find("_NEWLINE_") == std::string_view::npos);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return 0;
}
