// Repairs JSON of other programs: Python's json.dumps writes NaN, Infinity and lone surrogates, which RFC
// 8259 does not allow; others write numbers above the range of a double. In a member that nobody reads,
// these are no reason to drop the row. And says what a row that is no object may be. Rules: formats/rows.md.
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

/// Returns `object` with U+FFFD for each lone surrogate in any of its strings. Absent: it has none.
std::optional<std::string> WithoutLoneSurrogates(std::string_view object);

/// Says what the form of `row`, which is no JSON object, shows, and what to do: "begins with `[`: a JSON
/// array,
/// ...". Empty: nothing. `front`: `row` may go on behind the bytes that are here.
std::string FormOfNoObject(std::string_view row, bool front);
/// Returns the name, as it is written, of the first member of the object at the front of `row` whose value
/// begins as a list of objects. Empty: there is none.
std::string_view ListOfObjectsIn(std::string_view row);
/// Says how to make lines of the member `list`.
std::string ListAdvice(std::string_view list);

}  // namespace pipeline
