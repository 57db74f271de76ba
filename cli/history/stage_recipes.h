// How each stage of a run is made: its configuration without secrets, versions, recipe, sources with digests.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "cli/run_record.h"
#include "dag/plan.h"
#include "spec/graph.h"

namespace pipeline {

/// The values among `variables` (PipelineSpec::variables) that may be seen nowhere: those of names for a
/// secret, and all of the environment.
std::vector<std::string> SecretsIn(const std::map<std::string, std::string>& variables);

/// `text` with `***` in the place of each of `secrets`, of the user part and the query of a URL, of the value
/// of NAME=VALUE where the name is one for a secret, and of what follows "Authorization:" or "Bearer".
std::string HiddenText(std::string_view text, const std::vector<std::string>& secrets);

/// The same for each text of `config`, and for all values of keys whose name is one for a secret.
Json Hidden(const Json& config, const std::vector<std::string>& secrets);

/// Fills in how the `stages` of a record are made.
void AddRecipes(const Graph& graph, const Plan& plan, const std::vector<std::string>& secrets,
                std::vector<RecordedStage>& stages);

}  // namespace pipeline
