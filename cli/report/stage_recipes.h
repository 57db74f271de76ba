// How each stage of a run is configured: keys without secrets, versions, recipe, sources with digests.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "cli/report/run_record.h"
#include "dag/pipeline_file/graph.h"
#include "dag/plan/plan.h"

namespace pipeline {

/// The values in `variables` (PipelineSpec::variables) that must stay hidden: those whose name suggests a
/// secret, and all that come from the environment.
std::vector<std::string> SecretsIn(const std::map<std::string, std::string>& variables);

/// Replaces with `***`: each of `secrets`, the user part and query of a URL, the value of NAME=VALUE if the
/// name suggests a secret, and the text after "Authorization:" or "Bearer".
std::string HiddenText(std::string_view text, const std::vector<std::string>& secrets);

/// As HiddenText for each text in `config`, and hides all values of keys whose name suggests a secret.
Json Hidden(const Json& config, const std::vector<std::string>& secrets);

/// Fills in the configuration members of the `stages` of a record.
void AddRecipes(const Graph& graph, const Plan& plan, const std::vector<std::string>& secrets,
                std::vector<RecordedStage>& stages);

}  // namespace pipeline
