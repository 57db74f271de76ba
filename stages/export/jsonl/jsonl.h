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

/// Appends `text`, which is valid UTF-8, as the content of a JSON string (RFC 8259). It escapes `"`, `\` and
/// the characters below U+0020, no others.
void AppendJsonText(std::string& out, std::string_view text);

/// The form of all rows of a data set: each row is an object with the same members in the same order; all
/// values are strings.
class JsonlRow {
 public:
  /// `members`: names of the members, at least one, in order.
  explicit JsonlRow(const std::vector<std::string>& members);

  /// Returns the bytes between the text of the previous member and the text of member `at`, counted from 0.
  const std::string& before(std::size_t at) const { return before_[at]; }
  /// Returns the bytes after the last text, with the line end.
  const std::string& after() const { return after_; }

 private:
  std::vector<std::string> before_;
  std::string after_;
};

/// Returns "train.json", or "train-00001-of-00004.json" if `count` is more than 1. `number`: from 0.
std::string JsonlShardName(std::string_view file, std::uint32_t number, std::uint32_t count);

/// Returns the texts of the members of `line`, which has no LF, in the order of `members`. kDataLoss: the
/// line is no JSON object with exactly these members and string values; the message has the reason.
Result<std::vector<std::string>> ParseJsonlRow(std::string_view line,
                                               const std::vector<std::string>& members);

}  // namespace pipeline
