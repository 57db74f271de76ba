#include "formats/line_rules.h"

#include "text/white_space.h"

namespace pipeline {

bool EndsDocument(std::string_view before, const LineRules& rules, LineEnds ends) {
  const auto ends_line = [&before, ends] {
    return before.ends_with('\n') || (ends == LineEnds::kCr && before.ends_with('\r'));
  };
  if (!ends_line()) return false;
  if (rules.documents == Documents::kLine) return true;
  const bool lf = before.ends_with('\n');
  before.remove_suffix(1);
  if (lf && before.ends_with('\r')) before.remove_suffix(1);
  const std::size_t line_end = before.size();
  for (std::size_t size = 1; rules.space_is_blank && size <= before.size() && size <= 3 && !ends_line();) {
    const bool is_space = IsBlankLine(before.substr(before.size() - size));
    if (is_space) before.remove_suffix(size);
    size = is_space ? 1 : size + 1;
  }
  return ends_line() && line_end - before.size() <= rules.max_record_bytes;
}

}  // namespace pipeline
