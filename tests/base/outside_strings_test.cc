// The tables of strings that others hold.
#include "tests/support/outside_strings.h"

#include <gtest/gtest.h>

#include "base/digest.h"
#include "base/str.h"

namespace pipeline {
namespace {

std::string Row(std::string_view line) {
  return StrCat(DigestOf(line).ToHex().substr(0, 8), " ", line, "\n");
}

TEST(OutsideStringsTest, ATableWithEveryStringHasNoDifference) {
  OutsideStrings strings;
  strings.Add("object", "MANIFEST.json")
      .AddMembers("member", *Json::Parse(R"({"a":[{"b":1}],"c":{"d":{}}})"));
  const std::string table = StrCat("# Raise its version.\n", Row("object: MANIFEST.json"), Row("member: a"),
                                   Row("member: a[].b"), Row("member: c"), Row("member: c.d"));
  EXPECT_EQ(TableDifferences(strings, table, "a.txt"), "");
}

TEST(OutsideStringsTest, ARenamedStringIsNamedWithWhatToDo) {
  OutsideStrings strings;
  strings.Add("key", "fragments");
  EXPECT_EQ(TableDifferences(strings, StrCat("# Or raise kVersion.\n", Row("key: pieces")), "a.txt"),
            StrCat("a.txt:\nStrings changed that others hold. Take the change back. Or raise kVersion.\n"
                   "  line 2 pins a string that the program has no more: key: pieces\n"
                   "Strings that are in no line yet. If each is meant, add:\n  ",
                   Row("key: fragments")));
}

TEST(OutsideStringsTest, ARenameInTheTableItselfIsFound) {
  OutsideStrings strings;
  strings.Add("key", "fragments");
  std::string table = Row("key: pieces");
  table.replace(table.find("pieces"), 6, "fragments");
  const std::string told = TableDifferences(strings, table, "a.txt");
  EXPECT_NE(told.find("line 1 was edited: its digest is not that of: key: fragments\n"), std::string::npos)
      << told;
}

TEST(OutsideStringsTest, BytesThatCannotBeSeenAreEscaped) {
  OutsideStrings strings;
  strings.Add("line", "a\\\n\xff");
  EXPECT_EQ(*strings.lines().begin(), "line: a\\x5c\\x0a\\xff");
}

}  // namespace
}  // namespace pipeline
