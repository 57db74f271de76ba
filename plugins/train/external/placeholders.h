// The placeholders in the words of a command: external.md, section 2.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pipeline {

/// The values by the names of the placeholders.
using PlaceholderValues = std::map<std::string, std::string, std::less<>>;

/// kInvalidArgument names the word and the unknown placeholder or the lone brace.
Status CheckPlaceholders(std::string_view word);

/// `word` with the values in its placeholders. Call it after CheckPlaceholders; `values` has every
/// placeholder.
std::string FillPlaceholders(std::string_view word, const PlaceholderValues& values);

}  // namespace pipeline
