#include "dag/pipeline_file/yaml.h"

#include <gtest/gtest.h>

namespace pipeline {
namespace {

/// "LINE:COLUMN: message" of the only mistake.
std::string MistakeIn(std::string_view text) {
  const ParsedYaml parsed = ParseYaml(text);
  EXPECT_EQ(parsed.mistakes.size(), 1u);
  return parsed.mistakes.empty() ? "" : ToString(parsed.mistakes[0], "f");
}

YamlNode Parse(std::string_view text) {
  ParsedYaml parsed = ParseYaml(text);
  for (const Mistake& mistake : parsed.mistakes) ADD_FAILURE() << ToString(mistake, "f");
  return parsed.root ? std::move(*parsed.root) : YamlNode{};
}

TEST(YamlTest, KeepsOrderPositionsTextAndQuotes) {
  const YamlNode root = Parse("zebra: 1.0.0\nant:\n  - true\n  - \"32\"\n  - {k: ~}\n");
  ASSERT_TRUE(root.is_map());
  ASSERT_EQ(root.entries.size(), 2u);
  EXPECT_EQ(root.entries[0].key, "zebra");
  EXPECT_EQ(root.entries[0].value.text, "1.0.0");
  EXPECT_EQ(root.entries[0].value.at, (FilePosition{1, 8}));
  EXPECT_EQ(root.entries[1].key_at, (FilePosition{2, 1}));
  const YamlNode& list = *root.Find("ant");
  ASSERT_EQ(list.items.size(), 3u);
  EXPECT_EQ(list.items[0].text, "true");
  EXPECT_FALSE(list.items[0].quoted);
  EXPECT_EQ(list.items[1].text, "32");
  EXPECT_TRUE(list.items[1].quoted);
  EXPECT_EQ(list.items[1].at, (FilePosition{4, 5}));
  EXPECT_TRUE(list.items[2].Find("k")->is_null());
  EXPECT_EQ(root.Find("bee"), nullptr);
}

TEST(YamlTest, ColumnsAreCharactersAndLinesMayEndInCrLf) {
  const YamlNode root = Parse("\xEF\xBB\xBF{\xE6\x97\xA5\xE6\x9C\xAC: a, b: c}\r\n");
  EXPECT_EQ(root.entries[0].key_at, (FilePosition{1, 2}));
  EXPECT_EQ(root.entries[1].key_at, (FilePosition{1, 9}));
  EXPECT_EQ(Parse("a: 1\r\nb: 2\r\n").entries[1].value.at, (FilePosition{2, 4}));
}

TEST(YamlTest, AnEmptyTextIsNothing) {
  EXPECT_TRUE(Parse("").is_null());
  EXPECT_TRUE(Parse("# only a comment\n").is_null());
  EXPECT_EQ(Parse("").at, (FilePosition{1, 1}));
}

TEST(YamlTest, AliasesRepeatWithThePositionsOfTheOriginal) {
  const YamlNode root = Parse("a: &x {k: v}\nb: *x\n");
  ASSERT_NE(root.Find("b")->Find("k"), nullptr);
  EXPECT_EQ(root.Find("b")->Find("k")->at, (FilePosition{1, 11}));
}

TEST(YamlTest, ADuplicateKeyIsReportedAndTheFirstCounts) {
  const ParsedYaml parsed = ParseYaml("a: 1\nb: 2\na: 3\n");
  ASSERT_EQ(parsed.mistakes.size(), 1u);
  EXPECT_EQ(ToString(parsed.mistakes[0], "f"), "f:3:1: duplicate key \"a\": it stands on line 1 already");
  ASSERT_TRUE(parsed.root);
  EXPECT_EQ(parsed.root->Find("a")->text, "1");
}

TEST(YamlTest, WhatIsNotTextIsRefusedWithItsPlace) {
  EXPECT_EQ(MistakeIn("a: 1\nb: \xFF\n"), "f:2:4: byte 0xFF is not UTF-8: a pipeline file is UTF-8 text");
  EXPECT_EQ(MistakeIn("\xE6\x97\xA5: \xED\xA0\x80"),
            "f:1:4: byte 0xED is not UTF-8: a pipeline file is UTF-8 text");
  EXPECT_EQ(MistakeIn("\xC0\xAF"), "f:1:1: byte 0xC0 is not UTF-8: a pipeline file is UTF-8 text");
  EXPECT_EQ(MistakeIn("\xE6\x97"), "f:1:1: byte 0xE6 is not UTF-8: a pipeline file is UTF-8 text");
  EXPECT_EQ(MistakeIn(std::string_view("a: \0", 4)),
            "f:1:4: control character U+0000: a pipeline file is UTF-8 text");
  EXPECT_EQ(MistakeIn("a: \x04 b"), "f:1:4: control character U+0004: a pipeline file is UTF-8 text");
}

TEST(YamlTest, ATabInTheIndentationIsNamed) {
  EXPECT_EQ(MistakeIn("a:\n\tb: 1\n"), "f:2:1: a tab in the indentation: YAML wants spaces");
  EXPECT_EQ(MistakeIn("a:\n  \tb: 1\n"), "f:2:3: a tab in the indentation: YAML wants spaces");
  Parse("a: 1\t# comment\n\t\n\t# comment\n\r\nb: 2\n");
}

TEST(YamlTest, SyntaxErrorsHaveTheirPlace) {
  EXPECT_EQ(MistakeIn("a: b: c\n"), "f:1:5: not YAML: illegal map value");
  EXPECT_EQ(MistakeIn("a: [1, 2\n"), "f:2:1: not YAML: end of sequence flow not found");
}

TEST(YamlTest, ATextWhoseFirstCharacterIsOneOfYamlsWantsQuotes) {
  EXPECT_EQ(MistakeIn("a: *x.txt # b\n"),
            "f:1:4: not YAML: the referenced anchor is not defined; a text that begins with * wants quotes: "
            "\"*x.txt\"");
  EXPECT_EQ(MistakeIn("a: [b, *.txt]\n"),
            "f:1:8: not YAML: the referenced anchor is not defined; a text that begins with * wants quotes: "
            "\"*.txt\"");
  EXPECT_EQ(MistakeIn("a: @x\n"),
            "f:1:4: not YAML: unknown token; a text that begins with @ wants quotes: \"@x\"");
  for (const char* text : {"*.txt", "*", "**/x", "&x", "!x", "%x", "@x", "`x"})
    EXPECT_NE(
        MistakeIn(text).find(StrCat("a text that begins with ", text[0], " wants quotes: \"", text, "\"")),
        std::string::npos)
        << MistakeIn(text);
  Parse("a: \"*.txt\"\nb: x*&!%@`\nc: &c 1\nd: *c\n");
}

TEST(YamlTest, AMistakeOfIndentationNamesBothLines) {
  const std::string column = ": keys of one map begin in one column";
  EXPECT_EQ(MistakeIn("pipe: 1\nstages:\n  source:\n    type: download\n   url: a\n"),
            "f:5:4: this line is indented by 3 spaces, and line 4 by 4" + column);
  const std::string valued = ", which has its value already, by ";
  EXPECT_EQ(MistakeIn("pipe: 1\n name: x\n"),
            "f:2:2: this line is indented by 1 space, and line 1" + valued + "0" + column);
  EXPECT_EQ(MistakeIn("stages:\n  a: {type: x}  # comment\n\n   b: {type: y}\n"),
            "f:4:4: this line is indented by 3 spaces, and line 2" + valued + "2" + column);
  EXPECT_EQ(MistakeIn("a:\n  b: c\n    d: e\n"),
            "f:3:5: this line is indented by 4 spaces, and line 2" + valued + "2" + column);
}

TEST(YamlTest, AColonWithoutASpaceIsNamed) {
  EXPECT_EQ(MistakeIn("pipe: 1\nname:x\nstages: 2\n"),
            "f:2:5: a space is missing behind the colon of 'name'");
  EXPECT_EQ(MistakeIn("a: b: http://x\n"), "f:1:5: not YAML: illegal map value");
}

TEST(YamlTest, AQuoteThatIsNotClosedIsNamedWhereItOpens) {
  EXPECT_EQ(MistakeIn("a: 1\nb: \"${c}\nd: 2\n"), "f:2:4: the quote \" that opens here is never closed");
  EXPECT_EQ(MistakeIn("a: [1, 'x]\nb: 1\n"), "f:1:8: the quote ' that opens here is never closed");
  EXPECT_EQ(MistakeIn("a: \"b\\\"\n"), "f:1:4: the quote \" that opens here is never closed");
  EXPECT_EQ(MistakeIn("\"a: 1\n"), "f:1:1: the quote \" that opens here is never closed");
  const std::string late = " only, where another was meant to open: close it where its text ends";
  EXPECT_EQ(MistakeIn("# it's\na: it's 5\" long\nb: \"${c}\nd: 2\nout: \"${out}\"\n"),
            "f:3:4: the quote \" that opens here is closed on line 5" + late);
  EXPECT_EQ(MistakeIn("s:\n  a: { url: \"x }\n  b: { url: \"y\" }\n"),
            "f:2:13: the quote \" that opens here is closed on line 3" + late);
  EXPECT_EQ(MistakeIn("a:\n  - run: |\n      say \"hi\n    b: 'x\n  - c: 'y'\n"),
            "f:4:8: the quote ' that opens here is closed on line 5" + late);
  EXPECT_EQ(MistakeIn("a: 'it's'\n"),
            "f:1:7: text follows the quote ' that closes here: a quote inside a text is written ''");
  EXPECT_EQ(MistakeIn("a: \"b\" c\n"),
            "f:1:6: text follows the quote \" that closes here: a quote inside a text is written \\\"");
}

TEST(YamlTest, QuotesThatAreClosedAreNotBlamed) {
  EXPECT_EQ(MistakeIn("a: \"x\n  y\"\nb: c: d\n"), "f:3:5: not YAML: illegal map value");
  EXPECT_EQ(MistakeIn("b: c: d\na: \"x\n"), "f:1:5: not YAML: illegal map value");
  EXPECT_EQ(MistakeIn("'a': {\"b\": 'c', \"d\":\"e\"} # it's\nb: c: d\n"),
            "f:2:5: not YAML: illegal map value");
  EXPECT_EQ(MistakeIn("a: |\n  \"\nb: >-\n\n  it's\nc: d: e\n"), "f:6:5: not YAML: illegal map value");
  EXPECT_EQ(MistakeIn("- |\n \"x\n- &n \"y\"\n- it's: 'a''b'\n- b: c: d\n"),
            "f:5:7: not YAML: illegal map value");
  Parse("a: \"x\n  y\"\nb: 'it''s'\nc: it's\nd: \"5\\\" long\"\n");
  Parse("a: it\n  \"goes on\n\n  'so\nb: 1\n");
  Parse("- it\n  'goes on\n- [a\n  \"b, {c: d\n  'e}]\n- |\n  \"\n- >\n '\n");
  Parse("a: b # \"\n# '\nc: d\n");
}

TEST(YamlTest, WhatAPipelineFileHasNoUseForIsRefused) {
  EXPECT_EQ(MistakeIn("a: !!int 5\n"),
            "f:1:4: tags ('!...') have no meaning in a pipeline file: leave it out; a text that begins with "
            "! wants quotes: \"!!int\"");
  EXPECT_EQ(MistakeIn("a: 1\n---\nb: 2\n"),
            "f:2:1: a second YAML document begins here: a pipeline file is one document");
  EXPECT_EQ(MistakeIn("? [a]\n: b\n"), "f:1:3: a key must be a word, and this is a list");
  EXPECT_EQ(MistakeIn("a: &x [*x]\n"), "f:1:8: this alias is inside the value that it refers to");
}

TEST(YamlTest, BombsAreRefused) {
  std::string aliases = "a: &a [x, x, x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c < 'k'; ++c) {
    aliases += std::string(1, c) + ": &" + c + " [";
    for (int i = 0; i < 10; ++i) aliases += std::string("*") + static_cast<char>(c - 1) + ", ";
    aliases += "]\n";
  }
  EXPECT_EQ(
      MistakeIn(aliases),
      "f:4:36: a pipeline file has at most 10000 values, and an alias counts as the values that it repeats");
  EXPECT_EQ(MistakeIn(std::string(40, '[') + std::string(40, ']')), "f:1:33: nested deeper than 32 levels");
  EXPECT_EQ(ParseYaml(std::string(100000, '[')).mistakes.size(), 1u);
  EXPECT_EQ(ParseYaml(std::string(100000, '{')).mistakes.size(), 1u);
  EXPECT_EQ(MistakeIn(std::string(10 << 20, 'a')),
            "f:1:1: this is 10.0 MiB, and a pipeline file at most 1.00 MiB: is it the right file?");
}

TEST(YamlTest, DescribeCutsLongTextsBetweenCharacters) {
  YamlNode node;
  node.kind = YamlNode::Kind::kScalar;
  node.text = "a\nb";
  EXPECT_EQ(Describe(node), R"("a\nb")");
  node.text.clear();
  for (int i = 0; i < 59; ++i) node.text += "x";
  node.text += "\xE6\x97\xA5";
  EXPECT_EQ(Describe(node), "\"" + std::string(59, 'x') + "...\"");
}

}  // namespace
}  // namespace pipeline
