#include "formats/label_names.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace pipeline {
namespace {

TEST(LabelNamesTest, SpaceAtTheEndsAndBlankLinesDoNotCount) {
  EXPECT_EQ(*ParseLabelNames("a \r\n\n\u3000b"), (std::vector<std::string>{"a", "b"}));
}

TEST(LabelNamesTest, NoNameComesTwice) { EXPECT_FALSE(ParseLabelNames("a\na").ok()); }

TEST(LabelNamesTest, AFileThatIsNoTextIsRefused) {
  for (const std::string_view bad : {"no\n\xff\xfe", "no\ny\x01s", "no\ny\x7fs"})
    EXPECT_NE(ParseLabelNames(bad).status().message().find("not UTF-8, or a control character"),
              std::string::npos);
}

// stages/export/tfds/tfds.md
TEST(LabelNamesTest, AFileHasANameOnEachLine) { EXPECT_EQ(LabelNamesText({"0", "1"}), "\x30\x0A\x31\x0A"); }

}  // namespace
}  // namespace pipeline
