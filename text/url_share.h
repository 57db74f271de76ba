// Measures the URLs in a text: stages/lines/filter.md, 3.
#pragma once

#include <cstddef>
#include <string_view>

namespace pipeline {

/// Number of characters of `text` that are part of a URL.
std::size_t CountUrlCharacters(std::string_view text);

}  // namespace pipeline
