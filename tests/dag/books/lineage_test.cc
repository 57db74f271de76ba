#include "dag/books/lineage.h"

#include <gtest/gtest.h>

#include "dag/keys.h"

namespace pipeline {
namespace {

LineageStage Stage(std::string name, std::string type, std::string_view config) {
  LineageStage stage;
  stage.stage = std::move(name);
  stage.type = std::move(type);
  stage.version = 1;
  stage.config = *Json::Parse(config);
  return stage;
}

Lineage ExampleLineage() {
  Lineage lineage = {
      Stage("lines", "decompress", R"({"documents":"blank_line"})"),
      Stage("clean", "normalize", R"({"form":"nfkc","strip":true})"),
      Stage("text", "write_tfds", R"({"name":"a","shuffle":{"seed":0,"spills":{"level":1}}})")};
  lineage[0].sources = {{"ja.txt.xz", "1111"}};
  lineage[1].libraries = {{"icu", "72.1"}};
  return lineage;
}

TEST(LineageTest, EqualLineagesDoNotDiffer) {
  EXPECT_TRUE(Compare(ExampleLineage(), ExampleLineage()).empty());
}

TEST(LineageTest, AChangedKeyIsNamedWithBothValues) {
  Lineage after = ExampleLineage();
  after[1].config["form"] = "nfc";
  const std::vector<Difference> differences = Compare(ExampleLineage(), after);
  EXPECT_EQ(differences, (std::vector<Difference>{{"clean", "config.form", "nfkc", "nfc", false}}));
  EXPECT_EQ(ToString(differences[0]), "clean: form: nfkc -> nfc");
}

TEST(LineageTest, NestedConfigurationIsComparedKeyByKey) {
  Lineage after = ExampleLineage();
  after[2].config["shuffle"] = *Json::Parse(R"({"seed":1,"new":[1,2]})");
  EXPECT_EQ(Compare(ExampleLineage(), after),
            (std::vector<Difference>{{"text", "config.shuffle.seed", "0", "1", false},
                                     {"text", "config.shuffle.spills", R"({"level":1})", "", false},
                                     {"text", "config.shuffle.new", "", "[1,2]", false}}));
  after[2].config["shuffle"] = "none";
  EXPECT_EQ(Compare(ExampleLineage(), after)[0].what, "config.shuffle");
  EXPECT_EQ(ToString(Compare(ExampleLineage(), after)[0]),
            R"(text: shuffle: {"seed":0,"spills":{"level":1}} -> none)");
}

TEST(LineageTest, LibrariesAreOfTheMachine) {
  Lineage after = ExampleLineage();
  after[1].libraries = {{"icu", "70.1"}, {"mecab", "0.996"}};
  EXPECT_EQ(Compare(ExampleLineage(), after),
            (std::vector<Difference>{{"clean", "library.icu", "72.1", "70.1", true},
                                     {"clean", "library.mecab", "", "0.996", true}}));
  EXPECT_EQ(ToString(Compare(ExampleLineage(), after)[1]), "clean: library.mecab: (none) -> 0.996");
}

TEST(LineageTest, ASourceIsItsDigestWhateverItsName) {
  Lineage after = ExampleLineage();
  after[0].sources[0].name = "moved.txt.xz";
  EXPECT_TRUE(Compare(ExampleLineage(), after).empty());
  after[0].sources[0].digest = "2222";
  EXPECT_EQ(Compare(ExampleLineage(), after),
            (std::vector<Difference>{{"lines", "source.moved.txt.xz", "1111", "2222", false}}));
}

TEST(LineageTest, NamesOfSplitsAndFieldsAreContent) {
  const Digest records{1, 2};
  const Schema schema = {{}, {"train", "dev"}, {"premise"}};
  const auto with = [&](std::vector<std::string> splits, std::vector<std::string> fields) {
    return PartitionContent({}, RecordsContent(records, {{}, std::move(splits), std::move(fields)}), {0, 1});
  };
  const Digest content = with({"train", "dev"}, {"premise"});
  EXPECT_EQ(content, PartitionContent({}, RecordsContent(records, schema), {0, 1}));
  EXPECT_NE(content, with({"train", "eval"}, {"premise"}));
  EXPECT_NE(content, with({"train", "dev"}, {"sentence1"}));
  EXPECT_NE(content, with({"train"}, {"dev", "premise"}));
  EXPECT_NE(RecordsContent(records, schema), RecordsContent({1, 3}, schema));
}

TEST(LineageTest, TypeAndVersionAreCompared) {
  Lineage after = ExampleLineage();
  after[1].type = "clean_html";
  after[1].version = 2;
  EXPECT_EQ(Compare(ExampleLineage(), after),
            (std::vector<Difference>{{"clean", "type", "normalize", "clean_html", false},
                                     {"clean", "version", "1", "2", false}}));
}

TEST(LineageTest, AddedAndRemovedStagesAreNamed) {
  Lineage after = ExampleLineage();
  after.insert(after.begin() + 2, Stage("docs", "split", "{}"));
  EXPECT_EQ(Compare(ExampleLineage(), after),
            (std::vector<Difference>{{"docs", "stage added", "", "split", false}}));
  EXPECT_EQ(Compare(after, ExampleLineage()),
            (std::vector<Difference>{{"docs", "stage removed", "split", "", false}}));
}

TEST(LineageTest, ARenamedStageChangesNothing) {
  Lineage after = ExampleLineage();
  after[1].stage = "tidy";
  EXPECT_TRUE(Compare(ExampleLineage(), after).empty());
  after[1].config["form"] = "nfc";
  EXPECT_EQ(Compare(ExampleLineage(), after),
            (std::vector<Difference>{{"tidy", "config.form", "nfkc", "nfc", false}}));
}

TEST(LineageTest, AnotherOrderIsADifference) {
  Lineage after = ExampleLineage();
  std::swap(after[1], after[2]);
  EXPECT_EQ(Compare(ExampleLineage(), after),
            (std::vector<Difference>{{"clean", "order", "lines, clean, text", "lines, text, clean", false}}));
}

TEST(RecipeTest, EverythingThatChangesBytesIsInIt) {
  const LineageStage stage = ExampleLineage()[1];
  const Digest recipe = RecipeOf(stage, Digest{1, 2});
  std::vector<LineageStage> others(5, stage);
  others[0].type = "x";
  others[1].version = 2;
  others[2].config["form"] = "nfc";
  others[3].libraries["icu"] = "73";
  others[4].sources.push_back({"dictionary", "1111"});
  for (const LineageStage& other : others) EXPECT_NE(RecipeOf(other, Digest{1, 2}), recipe);
  EXPECT_NE(RecipeOf(stage, Digest{1, 3}), recipe);
  EXPECT_NE(RecipeOf(stage, std::nullopt), recipe);
}

TEST(RecipeTest, TheNameOfAStageIsNotInIt) {
  LineageStage stage = ExampleLineage()[1];
  const Digest recipe = RecipeOf(stage, std::nullopt);
  stage.stage = "other";
  stage.recipe = {1, 1};
  EXPECT_EQ(RecipeOf(stage, std::nullopt), recipe);
}

TEST(RecipeTest, StaysWhatItIsFromReleaseToRelease) {
  EXPECT_EQ(RecipeOf(Stage("lines", "decompress", R"({"documents":"blank_line"})"), std::nullopt).ToHex(),
            "87841fc2b9e2a9b8e5e045478b4412c8");
}

TEST(LineageTest, JsonComesBack) {
  const Lineage lineage = ExampleLineage();
  const Result<Lineage> back = LineageFromJson(ToJson(lineage));
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(*back, lineage);
}

TEST(LineageTest, AMissingMemberIsNamed) {
  const Result<Json> json =
      Json::Parse(R"([{"stage":"a","type":"b","config":{},"libraries":{},"sources":[]}])");
  EXPECT_EQ(LineageFromJson(*json).status().message(), "lineage[0].version: missing");
  EXPECT_EQ(LineageFromJson(Json("x")).status().code(), Code::kDataLoss);
}

}  // namespace
}  // namespace pipeline
