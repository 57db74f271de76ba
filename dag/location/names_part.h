// One part of the list of names at a location: one object. Form: dag/location/location_names.md
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
  std::string object;  // its name, which is made from its bytes
  std::string text;
};

/// Returns the parts of a list with exactly `names`: the same names give the same parts.
std::vector<NamesPart> NamesPartsOf(const NameSet& names);

/// Returns the names of a part, in its order. Absent: the part is damaged.
std::optional<std::vector<std::string>> ParseNamesPart(std::string_view text);

}  // namespace pipeline
