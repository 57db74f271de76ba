// JSON as other programs write it: Python's json.dumps writes NaN, Infinity and lone surrogates, which RFC
// 8259 has not; others write numbers that no double holds. Where nobody reads the member they stand in, they
// are no reason to lose the row. Rules: formats/rows.md.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace pipeline {

/// The object with NaN, Infinity, -Infinity and numbers above the largest double as null, and lone surrogates
/// as U+FFFD, in the values of members that are not among `wanted`. Absent where there is nothing of the
/// kind. What else is wrong stays so: the text is for a strict parser. A member whose name has an escape
/// counts as wanted.
std::optional<std::string> StrictInUnwanted(std::string_view object, std::span<const std::string> wanted);

}  // namespace pipeline
