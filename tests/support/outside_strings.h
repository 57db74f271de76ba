// Strings that files, hashes and other programs hold, so that none of them may change by a rename. Each
// subject has a table of its strings, tests/golden/outside_strings/SUBJECT.txt; the README there has its
// form.
#pragma once

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

#include "base/json.h"

namespace pipeline {

/// The strings of one subject, as the program has them now.
class OutsideStrings {
 public:
  /// `kind` says what holds the string: "line", "object", "key of seq_len". One string is added once a kind.
  OutsideStrings& Add(std::string_view kind, std::string_view string);
  /// Adds the path of each member below `json`, such as "shards[].object".
  OutsideStrings& AddMembers(std::string_view kind, const Json& json);

  /// Lines of a table, without their digests.
  const std::set<std::string>& lines() const { return lines_; }

 private:
  std::set<std::string> lines_;
};

/// Returns what differs between `strings` and the table `text`, named `file`, and what to do; empty: nothing.
std::string TableDifferences(const OutsideStrings& strings, std::string_view text, std::string_view file);

/// Success: the table of `subject` pins exactly `strings`. Use: EXPECT_TRUE(ArePinned(strings, "manifest")).
testing::AssertionResult ArePinned(const OutsideStrings& strings, std::string_view subject);

}  // namespace pipeline
