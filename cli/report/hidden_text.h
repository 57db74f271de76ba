// Hides the secrets in the configuration of a run.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace pipeline {

/// The values in `variables` (PipelineSpec::variables) that must stay hidden: those whose name suggests a
/// secret, and all that come from the environment.
std::vector<std::string> SecretsIn(const std::map<std::string, std::string>& variables);

/// Replaces with `***`: each of `secrets`, the user part and query of a URL, the value of NAME=VALUE if the
/// name suggests a secret, and the text after "Authorization:" or "Bearer".
std::string HiddenText(std::string_view text, const std::vector<std::string>& secrets);

/// As HiddenText for each text in `config`, and hides all values of keys whose name suggests a secret.
Json Hidden(const Json& config, const std::vector<std::string>& secrets);

}  // namespace pipeline
