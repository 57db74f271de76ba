// Keys of a pipeline file that belong to no stage type: one table for the parser, the JSON Schema and the
// reference page.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "dag/pipeline_file/config.h"

namespace pipeline {

/// The version of the pipeline file that this program reads, the value of `pipe:`.
inline constexpr int kFileVersion = 1;

struct FileKey {
  std::string_view name;
  bool required;
  std::string_view help;  // one sentence
};

/// Keys of the file itself.
inline constexpr std::array<FileKey, 6> kFileKeys = {{
    {"pipe", true, "The version of the file's language: 1."},
    {"name", true, "Names the pipeline and its work directory: small letters, digits and `_`."},
    {"vars", false, "Texts and numbers that values refer to as `${name}`; `--set name=value` changes one."},
    {"env", false, "The environment variables that values may refer to as `${env:NAME}`."},
    {"limits", false, "The most memory and disk that a run may take."},
    {"stages", true, "The stages by name, each with its `type` and keys."},
}};

/// Metrics of every stage that `expect` may bound. A type may have more.
inline constexpr std::array<FileKey, 3> kMetrics = {{
    {"kept_ratio", false, "Records that the stage gave per record that it took."},
    {"records", false, "Records that the stage gave."},
    {"bytes", false, "Bytes of text that the stage gave; a size such as 64MiB."},
}};

/// The metric of stages that have reasons for dropping records.
inline constexpr FileKey kDroppedMetric = {
    "dropped", false,
    "Share of the records that the stage took in which it did not pass on, for any reason."};

/// Below `expect`: a map from reasons to [low, high].
inline constexpr FileKey kReasonsKey = {
    "reasons", false,
    "Bounds `reason: [low, high]` on how often a reason was counted, as a share of the records, or of the "
    "documents, that the stage took in."};

/// Keys below `limits`.
const std::vector<ConfigKey>& LimitKeys();

/// Keys that every stage has or may have, besides those of its type.
const std::vector<ConfigKey>& StageKeys();

/// A map from named inputs to stages, for stages whose type has named inputs.
inline constexpr FileKey kInputsKey = {
    "inputs", false,
    "All named inputs in one map: `inputs: { tokenizer: words }` is the same as `tokenizer: words`."};

/// A map from metrics to [low, high]. It is not a ValueType, and so not in StageKeys().
inline constexpr FileKey kExpectKey = {
    "expect", false,
    "Bounds `metric: [low, high]` on the whole artifact; outside them the run fails before it is published."};

/// Returns the member `name` of each row, in their order.
template <class Rows>
std::vector<std::string_view> NamesOf(const Rows& rows) {
  std::vector<std::string_view> names;
  for (const auto& row : rows) names.push_back(row.name);
  return names;
}

}  // namespace pipeline
