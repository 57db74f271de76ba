// JSON Lines for trainers: one object per line. Format: stages/export/jsonl/jsonl.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pipeline {

/// Names of the members of a pair for span corruption.
inline constexpr std::string_view kJsonlSource = "source";
inline constexpr std::string_view kJsonlTarget = "target";

/// Appends `text`, which is clean UTF-8, as the content of a JSON string: escapes `"`, `\` and control
/// characters, nothing else.
void AppendJsonText(std::string& out, std::string_view text);

/// Form of the rows of a data set: objects with the same members in the same order; all values are strings.
class JsonlRow {
 public:
  explicit JsonlRow(const std::vector<std::string>& members);

  /// Bytes between the text of the previous member and the text of member `at`.
  const std::string& before(std::size_t at) const { return before_[at]; }
  /// Bytes after the last text, including the line end.
  const std::string& after() const { return after_; }

 private:
  std::vector<std::string> before_;
  std::string after_;
};

/// "train.json"; with several shards "train-00001-of-00004.json".
std::string JsonlShardName(std::string_view file, std::uint32_t number, std::uint32_t count);

/// Returns the texts of `line`, which has no LF, in the order of `members`. kDataLoss says why the line is
/// not a row with exactly these members.
Result<std::vector<std::string>> ParseJsonlRow(std::string_view line,
                                               const std::vector<std::string>& members);

}  // namespace pipeline
