// Repairs JSON of other programs: Python's json.dumps writes NaN, Infinity and lone surrogates, which RFC
// 8259 does not allow; others write numbers above the range of a double. In a member that nobody reads,
// these are no reason to drop the row. Rules: formats/rows.md.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace pipeline {

/// Returns `object` with changes in the values of members outside `wanted`: NaN, Infinity, -Infinity and
/// numbers above the largest double become null, lone surrogates become U+FFFD. Absent: nothing to change.
/// Other errors stay for the strict parser that reads the result. A member with an escape in its name
/// counts as wanted.
std::optional<std::string> StrictInUnwanted(std::string_view object, std::span<const std::string> wanted);

}  // namespace pipeline
