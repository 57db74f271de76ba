// Converts YAML values of the pipeline file to the JSON form of their ValueType.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "dag/pipeline_file/config.h"
#include "dag/pipeline_file/yaml.h"

namespace pipeline {

/// Returns the JSON form of `node` for `key`. Absent: the value is wrong and `mistakes` says why, or the
/// node is broken and was reported before. `where` begins the messages: "stage 'clean': 'form'".
std::optional<Json> ReadValue(const ConfigKey& key, const YamlNode& node, std::string_view where,
                              std::vector<Mistake>& mistakes);

/// Returns every key of `keys` from `entries`, defaults filled in. Absent: something was wrong. A missing
/// key is reported at `at`. Keys in `also` are skipped: other code reads them.
std::optional<Json> ReadConfig(const std::vector<ConfigKey>& keys, const std::vector<YamlEntry>& entries,
                               const std::vector<std::string_view>& also, std::string_view where,
                               FilePosition at, std::vector<Mistake>& mistakes);

/// Returns "missing key 'url': where the file is" for the help sentence "Where the file is."
std::string MissingKey(std::string_view key, std::string_view help);

/// Returns whether `text` is [a-z][a-z0-9_]*, at most 64 characters: the rule for names of pipelines,
/// stages, variables and splits.
bool IsName(std::string_view text);
inline constexpr std::string_view kNameRule =
    "a name is at most 64 small letters, digits and '_', and begins with a letter";

/// Reads a value of any shape, which a plugin or a trainer checks, by YAML's core schema: plain `true`, `1`
/// and `1e3` get their types, quoted text is a text. A whole number that does not fit 64 bits is a text, too.
Json FreeValue(const YamlNode& node);

}  // namespace pipeline
