// JSON Lines: an object per line, as trainers read it. Format: formats/jsonl.md.
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

/// Appends clean `text` as it stands between the quotes of a JSON string: `"`, `\` and control characters are
/// escaped, nothing else.
void AppendJsonText(std::string& out, std::string_view text);

/// The rows of one data set: objects with the same members, all of them strings, in one order.
class JsonlRow {
 public:
  explicit JsonlRow(const std::vector<std::string>& members);

  /// What stands before the text of member `at`, behind that of the one before.
  const std::string& before(std::size_t at) const { return before_[at]; }
  /// What stands behind the last text: the end of the line included.
  const std::string& after() const { return after_; }

 private:
  std::vector<std::string> before_;
  std::string after_;
};

/// "train.json", or "train-00001-of-00004.json" where there are several.
std::string JsonlShardName(std::string_view file, std::uint32_t number, std::uint32_t count);

/// The texts of a line, without its LF, in the order of `members`; kDataLoss saying why it is no row with
/// these members and no others.
Result<std::vector<std::string>> ParseJsonlRow(std::string_view line,
                                               const std::vector<std::string>& members);

}  // namespace pipeline
