// The flags of the programs of the presets, as their sources define them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace pipeline {

struct PresetFlag {
  std::string_view name;
  std::string_view type;      // bool, int, float, text, list, any, switch, gin, fixed, choice:A|B
  bool required = false;      // the program does not train without it
  std::string_view fallback;  // JSON; empty: it has no default, or one that is no literal
};

/// The text of a file of flags/, which README.md there describes. The build puts all of them into the
/// library.
struct PresetTable {
  std::string_view preset;
  std::string_view text;
};
std::span<const PresetTable> PresetTables();

/// Empty: there is no such preset.
const std::vector<PresetFlag>& FlagsOf(std::string_view preset);

/// The word that gives `value` to a flag of the program; empty: no word, for a switch that is off.
/// kInvalidArgument begins with the name of the flag: the program has no such flag, or one of another type.
Result<std::string> FlagWord(std::string_view preset, std::string_view flag, const Json& value);

}  // namespace pipeline
