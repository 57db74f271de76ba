#include <gtest/gtest.h>

#include <string>

#include "formats/tf_example.h"
#include "formats/tfrecord.h"
#include "stages/all/builtin.h"
#include "stages/export/tfds/tfds.h"
#include "stages/export/tfds/tfds_export.h"
#include "tests/stages/tokenizer/tokenizer_fixture.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

Json Config() {
  Json config;
  config["name"] = "cc100_ja";
  config["version"] = "1.0.0";
  config["shuffle"]["seed"] = 5;
  config["shards"] = "auto";
  config["hosts"] = 4;
  config["equal"] = true;
  return config;
}

StageContext Context(Json config) {
  Schema schema = TextSchema();
  schema.splits = {"train", "validation"};
  return {"text", std::move(config), schema};
}

std::string WhyRefused(const Json& config, Schema schema = TextSchema()) {
  return std::string(WriteTfdsType().check(config, schema).message());
}

TEST(WriteTfdsTest, EncodesEachRecordAsAFramedExample) {
  const auto stage = WriteTfdsType().sink()->make(Context(Config()));
  ASSERT_TRUE(stage.ok()) << stage.status().message();
  const std::vector<std::string> lines = {"猫が鳴く", "", std::string(5000, 'x')};
  Batch batch = BatchOf(lines);
  batch.payload.Append("left from the batch before");
  const StageCounts counts = ApplyTo(batch, *(*stage)->encoder());

  ASSERT_EQ(batch.payload.size(), lines.size());
  for (std::size_t row = 0; row < lines.size(); ++row) {
    std::string example;
    AppendTfExample(example, {{"text", TfBytesList{lines[row]}}});
    std::string framed;
    AppendTfRecord(framed, example);
    EXPECT_EQ(batch.payload[row], framed);
  }
  EXPECT_EQ(LinesOf(batch), lines) << "the text stays";
}

TEST(WriteTfdsTest, ShardsByTheConfiguration) {
  const ShardRules rules = TfdsShardRules(Context(Config()));
  EXPECT_EQ(rules.splits, (std::vector<std::string>{"train", "validation"}));
  EXPECT_EQ(rules.shuffle_seed, 5u);
  EXPECT_FALSE(rules.compress_spills);
  EXPECT_FALSE(rules.shards.has_value());
  EXPECT_EQ(rules.hosts, 4u);
  EXPECT_TRUE(rules.equal);
  EXPECT_EQ(rules.auto_shards(std::uint64_t{1} << 30, 1'000'000), 16u);
  EXPECT_EQ(rules.object_name("train", 3, 16), "cc100_ja-train.tfrecord-00003-of-00016");

  Json config = Config();
  config["shuffle"] = "none";
  config["shards"] = 7;
  const ShardRules plain = TfdsShardRules(Context(config));
  EXPECT_FALSE(plain.shuffle_seed.has_value());
  EXPECT_EQ(plain.shards, 7u);
}

TEST(WriteTfdsTest, DescribesTheShardsAsTheyAre) {
  Json config = Config();
  config["description"] = "a test";
  const ShardRules rules = TfdsShardRules(Context(config));
  std::vector<Shard> shards(3);
  shards[0].split = shards[1].split = "train";
  shards[2].split = "validation";
  std::vector<ShardOutput> outputs(3);
  const std::uint64_t bytes[] = {1000, 2000, 300};
  const std::uint64_t records[] = {10, 9, 3};
  for (std::size_t i = 0; i < 3; ++i) outputs[i].object.bytes = bytes[i], outputs[i].records = records[i];

  const auto sidecars = rules.describe(shards, outputs, {0, 0});
  ASSERT_TRUE(sidecars.ok()) << sidecars.status().message();
  ASSERT_EQ(sidecars->before_manifest.size(), 1u);
  EXPECT_EQ(sidecars->before_manifest[0].object, "dataset_info.json");
  const auto info = ParseTfdsInfo(sidecars->before_manifest[0].bytes);
  ASSERT_TRUE(info.ok()) << info.status().message();
  EXPECT_EQ(*info, (TfdsInfo{"cc100_ja",
                             "1.0.0",
                             "a test",
                             {{"train", {10, 9}, 3000 - 16 * 19}, {"validation", {3}, 300 - 16 * 3}}}));
  ASSERT_EQ(sidecars->after_manifest.size(), 1u) << "features.json says that all is there";
  EXPECT_EQ(sidecars->after_manifest[0].object, "features.json");
  EXPECT_EQ(sidecars->after_manifest[0].bytes, TfdsFeaturesJson());
}

TEST(WriteTfdsTest, ChecksNamesNumbersAndColumns) {
  EXPECT_EQ(WhyRefused(Config()), "");
  Json name = Config();
  name["name"] = "CC100";
  EXPECT_NE(WhyRefused(name).find("name 'CC100'"), std::string::npos);
  Json version = Config();
  version["version"] = "1.0";
  EXPECT_NE(WhyRefused(version).find("version '1.0'"), std::string::npos);
  Json hosts = Config();
  hosts["hosts"] = 0;
  EXPECT_EQ(WhyRefused(hosts), "hosts: 0: must be from 1 to 1000000");
  Schema split = TextSchema();
  split.splits = {"train", "all"};
  EXPECT_NE(WhyRefused(Config(), split).find("split 'all'"), std::string::npos);
  EXPECT_NE(WhyRefused(Config(), Schema()).find("column 'text'"), std::string::npos);
}

Json LabelledConfig() {
  Json config = Config();
  config["labels"] = Json::Array{"no", "yes"};
  return config;
}

Schema LabelledSchema() {
  Schema schema = TextSchema();
  schema.columns["label"] = ColumnType::kUtf8;
  return schema;
}

Batch LabelledBatch() {
  Batch batch = BatchOf({"a", "b", "c"});
  for (const char* label : {"yes", "maybe", "no"}) batch.label.Append(label);
  return batch;
}

TEST(WriteTfdsTest, LabelsBecomeNumbers) {
  Json config = LabelledConfig();
  config["on_unknown_label"] = "quarantine";
  const auto stage = WriteTfdsType().sink()->make({"text", config, LabelledSchema()});
  ASSERT_TRUE(stage.ok()) << stage.status().message();
  Batch batch = LabelledBatch();
  const StageCounts counts = ApplyTo(batch, *(*stage)->encoder());
  ASSERT_EQ(batch.payload.size(), 2u);
  for (std::size_t row = 0; row < 2; ++row) {
    std::string example;
    AppendTfExample(example,
                    {{"text", TfBytesList{row == 0 ? "a" : "c"}}, {"label", TfInt64List{row == 0 ? 1 : 0}}});
    std::string framed;
    AppendTfRecord(framed, example);
    EXPECT_EQ(batch.payload[row], framed);
  }
  EXPECT_EQ(LinesOf(batch), (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(counts.reasons.at("dropped_unknown_label"), 1u);
  ASSERT_EQ(batch.quarantine.size(), 1u);
  EXPECT_EQ(batch.quarantine[0].bytes, "maybe\tb");

  const ShardRules rules = TfdsShardRules({"text", config, LabelledSchema()}, {{"no", "yes"}, {}});
  const auto sidecars = rules.describe({}, {}, {});
  ASSERT_TRUE(sidecars.ok());
  ASSERT_EQ(sidecars->before_manifest.size(), 2u);
  EXPECT_EQ(sidecars->before_manifest[0].object, "label.labels.txt");
  EXPECT_EQ(sidecars->before_manifest[0].bytes, "no\nyes\n");
  EXPECT_EQ(sidecars->after_manifest[0].bytes, TfdsFeaturesJson({{"text"}, 2}));
}

TEST(WriteTfdsTest, UnknownLabelsFailUnlessSetAside) {
  const auto stage = WriteTfdsType().sink()->make({"text", LabelledConfig(), LabelledSchema()});
  Batch batch = LabelledBatch();
  const auto worker = (*stage)->encoder()->NewWorker();
  StageCounts counts;
  const Status status = (*worker)->Apply(batch, 1, counts);
  EXPECT_EQ(status.message(),
            "its label 'maybe' is not among `labels`; name it there, or set "
            "on_unknown_label: quarantine");
  EXPECT_EQ(batch.failed_index, 1u);
}

TEST(WriteTfdsTest, LabelsAreNamedWhereThereAreSome) {
  EXPECT_EQ(WhyRefused(LabelledConfig(), LabelledSchema()), "");
  EXPECT_NE(WhyRefused(Config(), LabelledSchema()).find("the records have labels: name them"),
            std::string::npos);
  EXPECT_NE(WhyRefused(LabelledConfig()).find("the records that come in have none"), std::string::npos);
  for (const char* label : {"", " a", "a\u3000", "a\nb", "yes"}) {
    Json config = LabelledConfig();
    config["labels"] = Json::Array{"no", "yes", label};
    EXPECT_NE(WhyRefused(config, LabelledSchema()).find("labels: '"), std::string::npos) << label;
  }
}

TEST(WriteTfdsTest, LabelsCanStandInAFile) {
  const TempDir directory;
  const std::string names = directory.path() / "names.txt";
  WriteFile(names, "no\nyes\n");
  Json config = Config();
  config["labels_file"] = names;
  EXPECT_EQ(WhyRefused(config, LabelledSchema()), "");
  EXPECT_NE(WhyRefused(config).find("the records that come in have none"), std::string::npos);
  const StageType type = WriteTfdsType();
  EXPECT_EQ(type.files(config)->at(0).path, names);
  EXPECT_TRUE(type.prepare(config).ok());
  const auto stage = type.sink()->make({"text", config, LabelledSchema()});
  ASSERT_TRUE(stage.ok()) << stage.status().message();
  Batch batch = BatchOf({"a"});
  batch.label.Append("yes");
  ApplyTo(batch, *(*stage)->encoder());
  std::string example, framed;
  AppendTfExample(example, {{"text", TfBytesList{"a"}}, {"label", TfInt64List{1}}});
  AppendTfRecord(framed, example);
  EXPECT_EQ(batch.payload[0], framed);
  WriteFile(names, "");
  EXPECT_EQ(type.prepare(config).message(), names + ": labels: an empty list; name each label that occurs");
  EXPECT_FALSE(type.sink()->make({"text", config, LabelledSchema()}).ok());
  config["labels"] = Json::Array{"a"};
  EXPECT_EQ(WhyRefused(config, LabelledSchema()),
            "labels and labels_file: name the labels in one of the two");
}

Schema PairSchema(bool labelled) {
  Schema schema = labelled ? LabelledSchema() : TextSchema();
  schema.columns["fields"] = ColumnType::kU32List;
  schema.field_names = {"sentence1", "2"};
  return schema;
}

TEST(WriteTfdsTest, FieldsBecomeFeatures) {
  for (const bool labelled : {false, true}) {
    Json config = labelled ? LabelledConfig() : Config();
    EXPECT_NE(WhyRefused(config, PairSchema(labelled)).find("features: '2': use letters"), std::string::npos);
    config["features"] = Json::Array{"premise", "hypothesis"};
    EXPECT_EQ(WhyRefused(config, PairSchema(labelled)), "");
    const auto stage = WriteTfdsType().sink()->make({"text", config, PairSchema(labelled)});
    ASSERT_TRUE(stage.ok()) << stage.status().message();
    Batch batch = BatchOf({"one two", "x y z"});
    batch.fields.Append(std::vector<std::uint32_t>{3, 7});
    batch.fields.Append(std::vector<std::uint32_t>{3, 5});
    if (labelled) batch.label.Append("yes"), batch.label.Append("no");
    ApplyTo(batch, *(*stage)->encoder());
    TfExample wanted = {{"premise", TfBytesList{"x y"}}, {"hypothesis", TfBytesList{"z"}}};
    if (labelled) wanted["label"] = TfInt64List{0};
    std::string example, framed;
    AppendTfExample(example, wanted);
    AppendTfRecord(framed, example);
    EXPECT_EQ(batch.payload[1], framed);
    const auto sidecars = TfdsShardRules({"text", config, PairSchema(labelled)}).describe({}, {}, {});
    ASSERT_TRUE(sidecars.ok());
    EXPECT_EQ(sidecars->after_manifest[0].bytes, TfdsFeaturesJson({{"hypothesis", "premise"}, 0}));
  }
}

TEST(WriteTfdsTest, FeaturesHaveNamesThatFit) {
  const auto why = [](Json::Array features, const Schema& schema, bool labelled = false) {
    Json config = labelled ? LabelledConfig() : Config();
    config["features"] = std::move(features);
    return WhyRefused(config, schema);
  };
  EXPECT_EQ(why({"document"}, TextSchema()), "");
  EXPECT_NE(why({"a", "b"}, TextSchema()).find("features: 2 names where records have 1 text"),
            std::string::npos);
  EXPECT_NE(why({"a"}, PairSchema(false)).find("features: 1 names where records have 2 fields"),
            std::string::npos);
  EXPECT_EQ(why({"a", "a"}, PairSchema(false)), "features: 'a' comes twice");
  EXPECT_EQ(why({"label", "a"}, PairSchema(false)), "");
  EXPECT_EQ(why({"label", "a"}, PairSchema(true), true), "features: 'label' is the number of the label");
}

TEST(WriteTfdsTest, NamesAndVersionsThatTfdsTakesOtherwiseAreRefused) {
  for (const char* name : {"lm1b", "wiki40b", "c4", "mnist"}) {
    Json config = Config();
    config["name"] = name;
    EXPECT_EQ(WhyRefused(config),
              std::string("name '") + name +
                  "': TensorFlow Datasets has a data set of that name, and seqio refuses a name that "
                  "exists twice; choose another, e.g. my_" +
                  name);
  }
  Json config = Config();
  config["version"] = "1.*.*";
  EXPECT_EQ(
      WhyRefused(config),
      "version '1.*.*': a loader may ask for any that fits, as in tfds.load(\"NAME:1.*.*\"), but a data "
      "set has one; write it, e.g. 1.0.0");
}

std::string WhyNotNamedInputs(const Json& config, const std::vector<std::string_view>& named_inputs) {
  return std::string(WriteTfdsType().check_named_inputs(config, named_inputs).message());
}

TEST(WriteTfdsTest, TokensAreCountedByATokenizer) {
  Json config = Config();
  EXPECT_EQ(WhyNotNamedInputs(config, {}), "");
  EXPECT_NE(WhyNotNamedInputs(config, {"tokenizer"}).find("has nothing to count"), std::string::npos);
  config["max_tokens"] = 128;
  EXPECT_EQ(WhyRefused(config), "");
  EXPECT_EQ(WhyNotNamedInputs(config, {"tokenizer"}), "");
  EXPECT_NE(WhyNotNamedInputs(config, {}).find("only a tokenizer can count tokens"), std::string::npos);
  Json few = config;
  few["max_tokens"] = 7;
  EXPECT_EQ(WhyRefused(few), "max_tokens: 7: must be from 8 to 1048576, or 0 for lines of any length");
  Json labelled = LabelledConfig();
  labelled["max_tokens"] = 128;
  EXPECT_NE(WhyRefused(labelled, LabelledSchema()).find("a record with a label is one example"),
            std::string::npos);
  config["features"] = Json::Array{"a", "b"};
  EXPECT_NE(WhyRefused(config, PairSchema(false)).find("a record with several texts is one"),
            std::string::npos);
}

TEST(WriteTfdsTest, ALimitOfZeroTokensIsNone) {
  Json config = Config();
  config["max_tokens"] = 0;
  EXPECT_EQ(WhyRefused(config), "");
  EXPECT_EQ(WhyNotNamedInputs(config, {"tokenizer"}), "");
  EXPECT_EQ(WhyNotNamedInputs(config, {}), "");
  EXPECT_EQ(WriteTfdsType().model_memory(config), 0u);
  // No tokenizer is read, and none lies beside the shards.
  const auto stage = WriteTfdsType().sink()->make({"text", config, TextSchema()});
  ASSERT_TRUE(stage.ok()) << stage.status().message();
  Batch batch = BatchOf({std::string(3000, 'x')});
  EXPECT_EQ(ApplyTo(batch, *(*stage)->encoder()).reasons.count("split_long"), 0u);
  EXPECT_EQ(batch.size(), 1u);
}

TEST(WriteTfdsTest, LinesThatAreTooLongAreSplit) {
  const Trained trained = Train(SmallCorpus());
  ASSERT_TRUE(trained.status.ok()) << trained.status.message();
  Json config = Config();
  config["max_tokens"] = 12;
  Schema schema = TextSchema();
  schema.columns["split"] = ColumnType::kU8;
  schema.columns["cuts"] = ColumnType::kU32List;
  schema.splits = {"train", "validation"};
  StageContext context{"text", config, schema};
  context.artifacts.emplace("tokenizer", ArtifactInput{trained.store, "", trained.output.facts});
  const auto stage = WriteTfdsType().sink()->make(context);
  ASSERT_TRUE(stage.ok()) << stage.status().message();
  const std::string one = "彼は学校へ行った。", two = "東京都に住んでいる。";
  Batch batch = BatchOf({"猫が", one + two + one, "犬を"});
  for (std::size_t row = 0; row < 3; ++row) {
    batch.split.push_back(row == 1 ? 1 : 0);
    batch.cuts.Append(std::vector<std::uint32_t>{static_cast<std::uint32_t>(batch.text[row].size())});
    batch.heads[row].sub = 5;
  }
  const StageCounts counts = ApplyTo(batch, *(*stage)->encoder());
  EXPECT_EQ(counts.reasons.at("split_long"), 1u);
  const std::vector<std::string> lines = LinesOf(batch);
  ASSERT_GT(lines.size(), 3u);
  EXPECT_EQ(lines.front(), "猫が");
  EXPECT_EQ(lines.back(), "犬を");
  std::string middle;
  for (std::size_t row = 1; row + 1 < lines.size(); ++row) {
    middle += lines[row];
    EXPECT_EQ(batch.split[row], 1);
    EXPECT_EQ(batch.heads[row].index, 1u);
    EXPECT_EQ(batch.heads[row].sub, 5 + ((row - 1) << 16));
  }
  EXPECT_EQ(middle, one + two + one);
  ASSERT_EQ(batch.payload.size(), lines.size());
  EXPECT_EQ(batch.heads.size(), lines.size());
  std::string example, framed;
  AppendTextExample(example, "text", lines[1]);
  AppendTfRecord(framed, example);
  EXPECT_EQ(batch.payload[1], framed);

  Batch short_ones = BatchOf({"猫が", "犬を"});
  EXPECT_TRUE(ApplyTo(short_ones, *(*stage)->encoder()).reasons.empty());
  EXPECT_EQ(short_ones.payload.size(), 2u);
}

TEST(WriteTfdsTest, LiesBelowNameAndVersion) {
  EXPECT_EQ(WriteTfdsType().location(Config()), "cc100_ja/1.0.0");
}

TEST(BuiltinTest, NamesEachStageOnce) {
  const Registry registry = BuiltinStages();
  for (const StageType& type : registry.types()) {
    EXPECT_EQ(registry.Find(type.name), &type) << type.name;
    EXPECT_FALSE(type.help.empty()) << type.name;
    for (const ConfigKey& key : type.keys) EXPECT_FALSE(key.help.empty()) << type.name << "." << key.name;
  }
  for (const char* name : {"download", "normalize", "split", "write_tfds"})
    EXPECT_NE(registry.Find(name), nullptr) << name;
}

}  // namespace
}  // namespace pipeline
