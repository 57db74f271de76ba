// Values of the pipeline file as the tables of keys want them: YAML to the JSON form of a ValueType.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "spec/config.h"
#include "spec/yaml.h"

namespace pipeline {

/// The JSON form of `node` for `key`; absent after adding to `mistakes` why there is none, or where
/// a broken node has been reported before. `where` begins the messages: "stage 'clean': 'form'".
std::optional<Json> ReadValue(const ConfigKey& key, const YamlNode& node, std::string_view where,
                              std::vector<Mistake>& mistakes);

/// Every key of `keys` from `entries`, defaults filled in; absent when anything was wrong. `at` is
/// where a missing key is reported, `also` are keys that others read: they are passed over.
std::optional<Json> ReadConfig(const std::vector<ConfigKey>& keys, const std::vector<YamlEntry>& entries,
                               const std::vector<std::string_view>& also, std::string_view where,
                               FilePosition at, std::vector<Mistake>& mistakes);

/// "missing key 'url': where the file is", of a help sentence "Where the file is."
std::string MissingKey(std::string_view key, std::string_view help);

/// [a-z][a-z0-9_]*, at most 64 characters: names of pipelines, stages, variables and splits.
bool IsName(std::string_view text);
inline constexpr std::string_view kNameRule =
    "a name is at most 64 small letters, digits and '_', and begins with a letter";

}  // namespace pipeline
