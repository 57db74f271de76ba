#include "dag/pipeline_file/reading_rules.h"

#include <algorithm>

#include "dag/pipeline_file/stage_type.h"

namespace pipeline {

ConfigKey RulesKey(std::string_view help) {
  return Choice(kRulesKey, "~", {kFirstRules, kNewestRules}, help);
}

int ReadingRulesOf(const Json& config) { return config[kRulesKey].AsString() == kFirstRules ? 1 : 2; }

void SetRules(PipelineSpec& spec, const StageRules& chosen, std::string_view otherwise) {
  for (StageSpec& stage : spec.stages) {
    const std::vector<ConfigKey>& keys = stage.type->keys;
    const bool has_rules =
        std::any_of(keys.begin(), keys.end(), [](const ConfigKey& key) { return key.name == kRulesKey; });
    if (!has_rules || (stage.config.Has(kRulesKey) && !stage.rules_are_chosen)) continue;
    const auto found = chosen.find(stage.name);
    stage.config[kRulesKey] = found == chosen.end() ? std::string(otherwise) : found->second;
    stage.rules_are_chosen = true;
  }
}

void HoldRules(PipelineSpec& spec) {
  for (StageSpec& stage : spec.stages) stage.rules_are_chosen = false;
}

StageRules RulesIn(const PipelineSpec& spec) {
  StageRules rules;
  for (const StageSpec& stage : spec.stages)
    if (stage.config.Has(kRulesKey)) rules.emplace(stage.name, stage.config[kRulesKey].AsString());
  return rules;
}

}  // namespace pipeline
