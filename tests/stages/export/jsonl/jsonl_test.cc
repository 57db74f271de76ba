#include "stages/export/jsonl/jsonl.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace pipeline {
namespace {

std::string RowOf(const std::vector<std::string>& members, const std::vector<std::string>& texts) {
  const JsonlRow row(members);
  std::string out;
  for (std::size_t at = 0; at < texts.size(); ++at) {
    out += row.before(at);
    AppendJsonText(out, texts[at]);
  }
  return out + row.after();
}

TEST(JsonlTest, TheExampleOfThePage) {
  EXPECT_EQ(RowOf({"sentence", "label"}, {"say \"hi\"\\", "go\tod"}),
            "{\"sentence\":\"say \\\"hi\\\"\\\\\",\"label\":\"go\\tod\"}\n");
}

TEST(JsonlTest, EveryCharacterComesBackAndOnlyWhatMustBeIsEscaped) {
  std::string text;
  for (char byte = 1; byte < 127; ++byte) text.push_back(byte);
  text += "\x7f é 猫 \xe2\x80\xa8 \xc2\x85 \xf0\x9f\x98\xba";
  const std::string row = RowOf({"te\"xt"}, {text});
  EXPECT_EQ(row.find('\n'), row.size() - 1);
  const auto parsed = ParseJsonlRow(std::string_view(row).substr(0, row.size() - 1), {"te\"xt"});
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(parsed->front(), text);
  EXPECT_EQ(Json::Parse(row)->AsObject().size(), 1u);
  EXPECT_NE(row.find("\\u0001"), std::string::npos);
  EXPECT_NE(row.find("\x7f é 猫 \xe2\x80\xa8 \xc2\x85 \xf0\x9f\x98\xba\"}"), std::string::npos);
}

TEST(JsonlTest, RowsOfOtherMembersAreNone) {
  const std::vector<std::string> members = {"text", "label"};
  EXPECT_TRUE(ParseJsonlRow(R"({"label":"x","text":"y"})", members).ok());
  for (const std::string_view line :
       {R"({"text":"y"})", R"({"text":"y","label":3})", R"({"text":"y","label":"x","more":"z"})",
        R"(["text"])", R"({"text":"y","label":"x")", "", R"({"text":"y","label":"x"} {})"})
    EXPECT_EQ(ParseJsonlRow(line, members).status().code(), Code::kDataLoss) << line;
}

TEST(JsonlTest, FilesAreNumberedWhereThereAreSeveral) {
  EXPECT_EQ(JsonlShardName("val", 0, 1), "val.json");
  EXPECT_EQ(JsonlShardName("train", 3, 12), "train-00003-of-00012.json");
}

}  // namespace
}  // namespace pipeline
