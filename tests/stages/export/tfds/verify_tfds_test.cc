// What a TFDS data set says of itself.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/stages/tokenizer/tokenizer_fixture.h"
#include "tests/stages/verify/found.h"
#include "tests/stages/verify/small_artifact.h"

namespace pipeline {
namespace {

constexpr std::string_view kAgain = "; `pipe run FILE --force text` makes the artifact again";

std::string FoundLine(std::string_view object, std::string_view what) {
  return std::string(object).append(": ").append(what).append(kAgain);
}

std::string LabelledExample(std::string_view text, TfInt64List label) {
  std::string example;
  AppendTfExample(example, {{"label", std::move(label)}, {"text", TfBytesList{text}}});
  return example;
}

TEST(VerifyTfdsTest, RecordsMustBeOneCleanText) {
  const TempDir dir;
  SmallDataSet set(dir / "out");
  std::string two_features, number;
  AppendTfExample(two_features, {{"text", TfBytesList{"a"}}, {"url", TfBytesList{"b"}}});
  AppendTfExample(number, {{"text", TfInt64List{1}}});
  set.AddSplit("train",
               {{TextExample("a\xff"), TextExample(std::string("ab\0", 3)), two_features, number, "\xff"}});
  set.Finish();
  const std::vector<std::string> lines = FoundIn(set.place());
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_TRUE(Finds(lines, "record 0 at byte 0: its text is not UTF-8 at byte 1;"));
  EXPECT_TRUE(Finds(lines, ": its text holds NUL at byte 2;"));
  EXPECT_TRUE(Finds(lines, ": its features are {text, url}, not {text};"));
  EXPECT_TRUE(Finds(lines, ": its feature text is not one text;"));
  EXPECT_TRUE(Finds(lines, "record 4 at byte ")) << "and that it is no Example";
}

TEST(VerifyTfdsTest, LabelsAreNumbersOfTheDataSet) {
  const TempDir dir;
  SmallDataSet set(dir / "out");
  set.SetLabels({"no", "yes"});
  set.AddSplit("train", {{LabelledExample("a", {0}), LabelledExample("b", {1})}});
  set.Finish();
  EXPECT_TRUE(FoundIn(set.place()).empty());

  SmallDataSet bad(dir / "bad");
  bad.SetLabels({"no", "yes"});
  bad.AddSplit("train", {{LabelledExample("a", {2}), LabelledExample("b", {0, 1}), TextExample("c")}});
  bad.Finish();
  WriteFile(bad.Path(kTfdsLabelsFile), "yes\nno\n");
  const std::vector<std::string> lines = FoundIn(bad.place());
  EXPECT_TRUE(Finds(lines, ": its label is 2 where labels are below 2;"));
  EXPECT_TRUE(Finds(lines, ": its feature label is not one number;"));
  EXPECT_TRUE(Finds(lines, ": its features are {text}, not {label, text};"));
  EXPECT_TRUE(
      Finds(lines, "label.labels.txt: does not name the labels that the manifest has, in their order"));
}

TEST(VerifyTfdsTest, LabelsOfAFileAndSeveralTexts) {
  const auto example = [](TfInt64List label, std::string_view hypothesis) {
    std::string bytes;
    AppendTfExample(bytes, {{"label", std::move(label)},
                            {"hypothesis", TfBytesList{hypothesis}},
                            {"premise", TfBytesList{"a"}}});
    return bytes;
  };
  const TempDir dir;
  SmallDataSet set(dir / "out");
  set.SetFeatures({"premise", "hypothesis"});
  set.SetLabels({"no", "yes"}, true);
  set.AddSplit("train", {{example({0}, "b"), example({2}, "b"), example({1}, "\xff"), TextExample("a")}});
  set.Finish();
  const std::vector<std::string> lines = FoundIn(set.place());
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_TRUE(Finds(lines, ": its label is 2 where labels are below 2;"));
  EXPECT_TRUE(Finds(lines, ": its text is not UTF-8 at byte 0;"));
  EXPECT_TRUE(Finds(lines, ": its features are {text}, not {hypothesis, label, premise};"));

  SmallDataSet other(dir / "other");
  other.SetLabels({"no", "yes"}, true);
  other.AddSplit("train", {{LabelledExample("a", {0})}});
  other.Finish();
  EXPECT_TRUE(FoundIn(other.place()).empty());
  WriteFile(other.Path(kTfdsLabelsFile), "no\nyes\nmaybe\n");
  EXPECT_TRUE(Finds(FoundIn(other.place()), "label.labels.txt: names 3 labels where features.json has 2"));
}

TEST(VerifyTfdsTest, DamagedFeaturesAreSaidOnce) {
  const TempDir dir;
  const auto said_once = [&dir](const std::string& name, const std::vector<std::string>& features,
                                const std::vector<std::string>& labels, const std::string& record) {
    SmallDataSet set(dir / name);
    set.SetFeatures(features);
    if (!labels.empty()) set.SetLabels(labels, true);
    set.AddSplit("train", {{record, record}});
    set.Finish();
    EXPECT_TRUE(FoundIn(set.place()).empty()) << name;
    WriteFile(set.Path(kTfdsFeaturesFile), "{}");
    const std::vector<std::string> lines = FoundIn(set.place());
    EXPECT_FALSE(lines.empty());
    for (const std::string& line : lines) EXPECT_TRUE(line.starts_with(kTfdsFeaturesFile)) << line;
  };
  said_once("plain", {"text"}, {}, TextExample("a"));
  said_once("labels", {"text"}, {"no", "yes"}, LabelledExample("a", {1}));
  std::string pair;
  AppendTfExample(pair, {{"hypothesis", TfBytesList{"a"}}, {"premise", TfBytesList{"b"}}});
  said_once("texts", {"premise", "hypothesis"}, {}, pair);
}

TEST(VerifyTfdsTest, LinesAreMeasuredByTheTokenizerThatLiesBesideThem) {
  const TempDir dir;
  SmallDataSet set(dir / "out");
  set.manifest().lineage.back().config["max_tokens"] = 8;
  set.AddSplit("train", {{TextExample("a")}});
  set.Finish();
  const std::vector<std::string> lines = FoundIn(set.place());
  EXPECT_TRUE(Finds(lines, "MANIFEST.json: names no tokenizer.model;"));
  EXPECT_TRUE(
      Finds(lines, "MANIFEST.json: tokenizer.model: cannot be read, so that no record was checked: "));
}

TEST(VerifyTfdsTest, DescriptionIsHeldAgainstTheShards) {
  const TempDir dir;
  SmallDataSet set(dir / "out");
  set.AddSplit("train", {{TextExample("a")}, {TextExample("b")}});
  set.AddSplit("validation", {{TextExample("c")}});
  set.info().name = "huge";
  set.info().splits[0].shard_lengths = {1, 2};
  set.info().splits[0].bytes += 1;
  set.info().splits[1].name = "test";
  set.Finish();
  const std::vector<std::string> lines = FoundIn(set.place());
  EXPECT_EQ(lines.size(), 5u);
  EXPECT_TRUE(Finds(lines, "dataset_info.json: name is huge where the manifest says tiny"));
  EXPECT_TRUE(Finds(lines, "split train: shardLengths[1] is 2 where the manifest says 1"));
  EXPECT_TRUE(Finds(lines, "split train: numBytes is "));
  EXPECT_TRUE(Finds(lines, "split test: has no shards in the manifest"));
  EXPECT_TRUE(Finds(lines, "split validation: missing"));
}

TEST(VerifyTfdsTest, ManifestIsHeldAgainstItself) {
  const TempDir dir;
  SmallDataSet set(dir / "out");
  set.AddSplit("train", {{TextExample("a")}, {TextExample("b")}});
  set.manifest().splits["train"].records = 3;
  set.Finish();
  EXPECT_EQ(FoundIn(set.place()), std::vector<std::string>{FoundLine(
                                      "MANIFEST.json", "split train: its shards have 2 records of 3")});

  set.manifest().lineage.back().config["equal"] = true;  // left one out
  set.Finish();
  EXPECT_TRUE(FoundIn(set.place()).empty());

  set.manifest().shards.pop_back();
  set.Finish();
  const std::vector<std::string> lines = FoundIn(set.place());
  EXPECT_TRUE(Finds(lines, "MANIFEST.json: split train: has 1 shards of 2"));
  EXPECT_TRUE(
      Finds(lines, "tiny-train.tfrecord-00001-of-00002: an earlier run left it, and it is in no manifest"));
}

/// What is counted of the lines of `set` for a trainer with `filter`.
VerifyReport CountedFor(const SmallDataSet& set, const LengthFilter& filter) {
  LocalStore store(set.place());
  const Result<Manifest> manifest = ReadManifest(store, set.place());
  EXPECT_TRUE(manifest.ok()) << manifest.status().message();
  VerifyRules rules;
  rules.threads = 2, rules.filter = &filter;
  Result<VerifyReport> report = VerifyArtifact(BuiltinTables(), store, *manifest, rules, {});
  EXPECT_TRUE(report.ok()) << report.status().message();
  return report.ok() ? std::move(report).value() : VerifyReport();
}

TEST(VerifyTfdsTest, SaysWhatATrainerDropsThatFiltersByLength) {
  const Trained trained = Train(SmallCorpus());
  ASSERT_TRUE(trained.status.ok()) << trained.status.message();
  const std::shared_ptr<const SentencePieceEncoder> shared =
      SentencePieceEncoder::Load(trained.Object("tokenizer.model")).value();
  const TempDir dir;
  SmallDataSet set(dir / "out");
  // 猫 and が are a piece each; the end mark is one more.
  set.AddSplit("train", {{TextExample("猫が"), TextExample("猫が猫が猫が")}, {TextExample("猫が猫が")}});
  set.AddSplit("validation", {{TextExample("猫が猫が猫が猫が")}});
  set.Finish();
  EXPECT_EQ(Verify(set.place()).max_tokens, 0u) << "nobody asked, and no greatest length is known";
  EXPECT_EQ(CountedFor(set, {nullptr, 5}).max_tokens, 0u) << "no tokenizer";
  EXPECT_EQ(CountedFor(set, {shared, 0}).max_tokens, 0u) << "no limit";
  const VerifyReport report = CountedFor(set, {shared, 5});
  EXPECT_TRUE(report.findings.empty());
  EXPECT_EQ(report.max_tokens, 5u);
  EXPECT_EQ(report.lengths.lines, 4u);
  EXPECT_EQ(report.lengths.tokens, 3u + 7u + 5u + 9u);
  EXPECT_EQ(report.lengths.long_lines, 2u);
  EXPECT_EQ(report.lengths.long_tokens, 7u + 9u);

  SmallDataSet labelled(dir / "labels");
  labelled.SetLabels({"no", "yes"}, true);
  labelled.AddSplit("train", {{LabelledExample("猫が", {1})}});
  labelled.Finish();
  EXPECT_EQ(CountedFor(labelled, {shared, 2}).max_tokens, 0u) << "no such trainer takes labels";
}

}  // namespace
}  // namespace pipeline
