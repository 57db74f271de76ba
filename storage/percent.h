// Text that was taken out of URLs (RFC 3986, 2.1), and forms. What goes into URLs: PercentEncode of
// storage/http_text.h.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace pipeline {

/// Absent where a `%` is not followed by two hexadecimal digits.
std::optional<std::string> PercentDecode(std::string_view text);

/// "name=value&…", encoded: the body of a form, or a query.
std::string FormText(std::initializer_list<std::pair<std::string_view, std::string_view>> fields);

}  // namespace pipeline
