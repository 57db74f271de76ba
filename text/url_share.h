// How much of a text is URLs: stages/filter.md, 3.
#pragma once

#include <cstddef>
#include <string_view>

namespace pipeline {

/// How many characters of `text` stand in URLs.
std::size_t CountUrlCharacters(std::string_view text);

}  // namespace pipeline
