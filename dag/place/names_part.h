// One object of the list of names at a place. Form: dag/place/place_names.md
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace pipeline {

inline constexpr std::string_view kNamesPrefix = ".pipe/names/";

using NameSet = std::set<std::string, std::less<>>;

struct NamesPart {
  std::string object;  // its name at the place, which is made of its bytes
  std::string text;
};

/// The parts of a list of `names` alone: the same names are the same parts.
std::vector<NamesPart> NamesPartsOf(const NameSet& names);

/// The names of a part, in its order; absent where it is damaged.
std::optional<std::vector<std::string>> ParseNamesPart(std::string_view text);

}  // namespace pipeline
