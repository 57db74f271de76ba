// The placeholders in the words of a command: external.md, section 2.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace pipeline {

/// The values by the names of the placeholders.
using PlaceholderValues = std::map<std::string, std::string, std::less<>>;

/// kInvalidArgument begins with `key`, and names the word and the unknown placeholder or the lone brace.
Status CheckPlaceholders(std::string_view key, std::string_view word);

/// The names in its placeholders, in their order.
std::vector<std::string> PlaceholdersIn(std::string_view word);

/// `word` with the values in its placeholders. Call it after CheckPlaceholders; `values` has every
/// placeholder.
std::string FillPlaceholders(std::string_view word, const PlaceholderValues& values);

}  // namespace pipeline
