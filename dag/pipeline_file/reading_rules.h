// The number of the rules by which a stage reads text. A mend of reading that changes the bytes which some
// inputs give is a part of newer rules, so that work of earlier versions stays done: dag/DESIGN.md, Reading
// rules.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/json.h"
#include "dag/pipeline_file/config.h"
#include "dag/pipeline_file/pipeline_file.h"

namespace pipeline {

inline constexpr std::string_view kRulesKey = "rules";
/// The oldest rules, which are in no recipe.
inline constexpr std::string_view kFirstRules = "1";
inline constexpr std::string_view kNewestRules = "2";

/// The rules by stage.
using StageRules = std::map<std::string, std::string, std::less<>>;

/// The key of a stage that has rules. `help` ends with what the newest rules change.
ConfigKey RulesKey(std::string_view help);

/// Returns the number of the rules; the newest if nobody has chosen.
int ReadingRulesOf(const Json& config);

/// Gives each stage with such a key the rules `chosen`, or else `otherwise`, unless the file gives them.
void SetRules(PipelineSpec& spec, const StageRules& chosen, std::string_view otherwise);
/// From now on the rules count as given by the file.
void HoldRules(PipelineSpec& spec);
/// Returns the rules of all stages that have some.
StageRules RulesIn(const PipelineSpec& spec);

}  // namespace pipeline
