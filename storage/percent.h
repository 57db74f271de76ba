// Percent encoding of text in URLs (RFC 3986, 2.1) and in forms.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace pipeline {

/// Encodes every byte as `%41`, except A-Z a-z 0-9 - . _ ~ and the bytes of `kept`.
std::string PercentEncode(std::string_view text, std::string_view kept = {});

/// Absent: a `%` is not followed by two hexadecimal digits.
std::optional<std::string> PercentDecode(std::string_view text);

/// "name=value&…", encoded: the body of a form, or a query.
std::string FormText(std::initializer_list<std::pair<std::string_view, std::string_view>> fields);

}  // namespace pipeline
