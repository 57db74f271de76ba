#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

#include "stages/export/jsonl/jsonl_export.h"
#include "tests/stages/batches.h"
#include "tests/stages/shards/shuffle_fixture.h"
#include "text/span_corruption.h"

namespace pipeline {
namespace {

Json Config(std::string_view shuffle = "none") {
  Json config;
  config["unit"] = "record";
  config["task"] = "text";
  config["shuffle"] = Json(shuffle);
  if (shuffle != "none") config["shuffle"] = Json(Json::Object{}), config["shuffle"]["seed"] = 3;
  config["shards"] = "auto";
  config["hosts"] = 1;
  return config;
}

Schema SplitSchema() {
  Schema schema = TextSchema();
  schema.columns["split"] = ColumnType::kU8;
  schema.splits = {"train", "validation"};
  return schema;
}

/// Lines by partition, the last of each in validation; two lines make a document.
std::vector<Batch> Batches() {
  std::vector<Batch> batches;
  for (std::uint32_t partition = 0; partition < 2; ++partition) {
    Batch batch = BatchOf({"one", "tw\"o", "three", "four", "five"});
    batch.partition = {0, partition};
    for (std::size_t row = 0; row < batch.size(); ++row) {
      batch.heads[row].document = row / 2;
      batch.split.push_back(row == 4 ? 1 : 0);
    }
    batches.push_back(std::move(batch));
  }
  return batches;
}

/// What the stage publishes of `batches`, by name of the file.
std::map<std::string, std::string> Publish(const Json& config, const Schema& schema,
                                           std::vector<Batch> batches) {
  auto made = WriteJsonlType().sink()->make({"rows", config, schema});
  EXPECT_TRUE(made.ok()) << made.status().message();
  const SinkStage& stage = **made;
  MapStore artifact, out;
  std::vector<PartitionOutput> outputs;
  for (Batch& batch : batches) {
    auto sink = stage.OpenPartition(artifact, batch.partition);
    ApplyTo(batch, *stage.encoder());
    const Status written = (*sink)->Write(batch);
    EXPECT_TRUE(written.ok()) << written.message();
    PartitionOutput output{batch.partition, *(*sink)->Commit({}), {}};
    for (std::size_t row = 0; row < batch.size(); ++row)
      ++output.splits[schema.splits[batch.split.empty() ? 0 : batch.split[row]]].records;
    outputs.push_back(std::move(output));
  }
  const auto plan = stage.Plan(artifact, outputs);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  const auto shards = WriteAll(**plan, out, 1 << 20);
  EXPECT_TRUE(shards.ok()) << shards.status().message();
  std::map<std::string, std::string> files;
  for (std::size_t at = 0; at < shards->size(); ++at) {
    const std::string& name = (*plan)->shards()[at].object;
    files[name] = out[name];
    const auto lines = static_cast<std::uint64_t>(std::count(out[name].begin(), out[name].end(), '\n'));
    EXPECT_EQ((*shards)[at].records, lines);
  }
  return files;
}

using Files = std::map<std::string, std::string>;

TEST(WriteJsonlTest, ARowForEachRecord) {
  EXPECT_EQ(
      Publish(Config(), SplitSchema(), Batches()),
      (Files{{"train-00000-of-00002.json",
              "{\"text\":\"one\"}\n{\"text\":\"tw\\\"o\"}\n{\"text\":\"three\"}\n{\"text\":\"four\"}\n"},
             {"train-00001-of-00002.json",
              "{\"text\":\"one\"}\n{\"text\":\"tw\\\"o\"}\n{\"text\":\"three\"}\n{\"text\":\"four\"}\n"},
             {"val-00000-of-00002.json", "{\"text\":\"five\"}\n"},
             {"val-00001-of-00002.json", "{\"text\":\"five\"}\n"}}));
}

TEST(WriteJsonlTest, AShuffledSplitIsOneFileUnlessMoreAreAskedFor) {
  Json config = Config("seed");
  const Files one = Publish(config, SplitSchema(), Batches());
  ASSERT_EQ(one.size(), 2u);
  EXPECT_EQ(one.at("val.json"), "{\"text\":\"five\"}\n{\"text\":\"five\"}\n");
  EXPECT_EQ(std::count(one.at("train.json").begin(), one.at("train.json").end(), '\n'), 8);
  config["shards"] = 2;
  config["names"]["validation"] = "dev";
  const Files two = Publish(config, SplitSchema(), Batches());
  EXPECT_EQ(two.at("train-00000-of-00002.json") + two.at("train-00001-of-00002.json"), one.at("train.json"));
  EXPECT_EQ(two.count("dev-00001-of-00002.json"), 1u);
}

TEST(WriteJsonlTest, DocumentsAreRowsInEitherOrder) {
  for (const std::string_view shuffle : {"none", "seed"}) {
    Json config = Config(shuffle);
    config["unit"] = "document";
    config["text_field"] = "doc";
    std::multiset<std::string> rows;
    for (const auto& [name, bytes] : Publish(config, SplitSchema(), Batches()))
      if (name.starts_with("train"))
        for (std::size_t at = 0, end = 0; at < bytes.size(); at = end) {
          end = bytes.find('\n', at) + 1;
          rows.insert(bytes.substr(at, end - at));
        }
    const std::string first = "{\"doc\":\"one\\ntw\\\"o\"}\n", second = "{\"doc\":\"three\\nfour\"}\n";
    EXPECT_EQ(rows, (std::multiset<std::string>{first, first, second, second})) << shuffle;
  }
}

TEST(WriteJsonlTest, LabelsAndFieldsAreMembers) {
  Schema schema = TextSchema();
  schema.columns["label"] = ColumnType::kUtf8;
  schema.columns["fields"] = ColumnType::kU32List;
  schema.field_names = {"first", "second"};
  Batch batch = BatchOf({"a man sleeps", "no label"});
  batch.label.Append("yes");
  batch.label.Append("");
  batch.fields.Append(std::vector<std::uint32_t>{5, 12});
  batch.fields.Append(std::vector<std::uint32_t>{2, 8});
  EXPECT_EQ(Publish(Config(), schema, {batch}),
            (Files{{"train.json", "{\"first\":\"a man\",\"second\":\"sleeps\",\"label\":\"yes\"}\n"}}));
  Json config = Config();
  config["fields"]["hypothesis"] = "second";
  config["fields"]["a_premise"] = "first";
  config["label_field"] = "target";
  EXPECT_EQ(
      Publish(config, schema, {batch}),
      (Files{{"train.json", "{\"a_premise\":\"a man\",\"hypothesis\":\"sleeps\",\"target\":\"yes\"}\n"}}));
  const auto stage = WriteJsonlType().sink()->make({"rows", config, schema});
  EXPECT_EQ(ApplyTo(batch, *(*stage)->encoder()).reasons.at("dropped_no_label"), 1u);
  EXPECT_EQ(batch.quarantine.at(0).bytes, "no label");
}

TEST(WriteJsonlTest, PairsTellOriginsApartAndLongLinesBecomeSeveral) {
  Json config = Config();
  config["task"] = "span_corruption";
  config["max_source"] = 10;
  const std::string line = "a b c d e f g h i j k l m n o p q r s t u v w x y z";
  Batch batch = BatchOf({"word", "has <extra_id_0> in it", line, line});
  const auto stage = WriteJsonlType().sink()->make({"rows", config, TextSchema()});
  const StageCounts counts = ApplyTo(batch, *(*stage)->encoder());
  EXPECT_EQ(counts.reasons.at("dropped_sentinel"), 1u);
  EXPECT_EQ(counts.reasons.at("dropped_one_unit"), 1u);
  ASSERT_EQ(batch.size(), 6u);
  EXPECT_EQ(batch.payload.size(), 6u);
  std::set<std::pair<std::uint64_t, std::uint32_t>> origins;
  for (const RecordHead& head : batch.heads) origins.emplace(head.index, head.sub);
  EXPECT_EQ(origins.size(), 6u);
  EXPECT_EQ(batch.text[5], line);
  EXPECT_NE(batch.payload[0], batch.payload[3]);

  Batch again = BatchOf({"x", "x", line});
  ApplyTo(again, *(*stage)->encoder());
  EXPECT_EQ(again.payload[0], batch.payload[0]) << "what stands in a batch beside a line has no say";

  Batch outputs = BatchOf({"吾輩は猫である"});
  outputs.ids.Append(std::vector<std::uint32_t>{1, 2, 3});
  outputs.id_ends.Append(std::vector<std::uint32_t>{6, 9, 21});
  ApplyTo(outputs, *(*stage)->encoder());
  EXPECT_EQ(outputs.payload[0], "{\"source\":\"吾輩<extra_id_0>猫である\",\"target\":\"<extra_id_0> は\"}\n");
}

TEST(WriteJsonlTest, PairsOfManyPartsHaveNumbersOfTheirOwn) {
  Json config = Config();
  config["task"] = "span_corruption";
  config["max_source"] = 10;
  const std::string line = "a b c d e f g h i j k l m n o p q r s t u v w x y z";
  Batch batch = BatchOf({line, line, line, line});
  for (std::uint32_t row = 0; row < 4; ++row) batch.heads[row].index = 0;
  batch.heads[0].sub = 32767, batch.heads[1].sub = 32768, batch.heads[2].sub = 65536;
  batch.heads[3].sub = 1 << 24;
  const auto stage = WriteJsonlType().sink()->make({"rows", config, TextSchema()});
  ApplyTo(batch, *(*stage)->encoder());
  ASSERT_EQ(batch.size(), 12u);
  EXPECT_EQ(batch.heads[0].sub, 32767u << 16);
  for (std::size_t row = 1; row < batch.size(); ++row)
    EXPECT_LT(batch.heads[row - 1].sub, batch.heads[row].sub) << row;

  std::string long_line;
  for (int word = 0; word < 1000; ++word) long_line += "w ";
  Batch many = BatchOf({long_line});
  many.heads[0].sub = 40000;
  const auto worker = (*stage)->encoder()->NewWorker();
  StageCounts counts;
  EXPECT_EQ((*worker)->Apply(many, 0, counts).message(),
            "part 40000 of it becomes 100 pairs, more than 64; filter such lines out, or cut them");
}

TEST(WriteJsonlTest, WhatCannotBeIsRefused) {
  const auto refused = [](Json config, Schema schema) {
    const Status status = WriteJsonlType().check(config, schema);
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    return std::string(status.message());
  };
  const auto with = [](std::string_view key, Json value) {
    Json config = Config("seed");
    config[key] = std::move(value);
    return config;
  };
  Schema labelled = TextSchema(), fields = TextSchema();
  labelled.columns["label"] = ColumnType::kUtf8;
  fields.columns["fields"] = ColumnType::kU32List;
  fields.field_names = {"a", "b"};
  Schema good = SplitSchema();
  EXPECT_TRUE(WriteJsonlType().check(Config("seed"), good).ok());
  EXPECT_TRUE(refused(with("label_field", "label"), TextSchema()).starts_with("label_field: "));
  EXPECT_TRUE(refused(with("text_field", "label"), labelled).starts_with("two members"));
  EXPECT_TRUE(refused(with("text_field", ""), labelled).find("needs a name") != std::string::npos);
  EXPECT_TRUE(refused(with("unit", "document"), labelled).starts_with("unit: "));
  EXPECT_TRUE(refused(with("noise", 0.2), TextSchema()).starts_with("noise: "));
  EXPECT_TRUE(refused(with("fields", Json(Json::Object{{"x", "a"}})), TextSchema()).starts_with("fields: "));
  EXPECT_TRUE(refused(with("fields", Json(Json::Object{{"x", "c"}})), fields).find("'c'") !=
              std::string::npos);
  EXPECT_TRUE(refused(with("text_field", "x"), fields).find("leave out") != std::string::npos);
  EXPECT_TRUE(refused(with("names", Json(Json::Object{{"test", "x"}})), good).find("'test'") !=
              std::string::npos);
  EXPECT_TRUE(refused(with("names", Json(Json::Object{{"train", "a/b"}})), good).starts_with("names: train"));
  EXPECT_TRUE(refused(with("names", Json(Json::Object{{"train", "val"}})), good).find("val.json") !=
              std::string::npos);
  Json corrupt = with("task", "span_corruption");
  corrupt["max_source"] = 5000;
  EXPECT_TRUE(refused(corrupt, TextSchema()).starts_with("max_source: "));
  corrupt["max_source"] = -1;
  EXPECT_TRUE(refused(corrupt, TextSchema()).starts_with("max_source: "));
}

TEST(WriteJsonlTest, ASplitWithoutRowsIsRefusedBeforeFilesAreWritten) {
  const auto stage = WriteJsonlType().sink()->make({"rows", Config(), SplitSchema()});
  ArtifactTotals totals;
  totals.splits["train"].records = 5;
  const Status checked = (*stage)->CheckCounts(totals);
  EXPECT_EQ(checked.code(), Code::kFailedPrecondition);
  EXPECT_NE(std::string(checked.message()).find("'validation' has no records"), std::string::npos);
  totals.splits["validation"].records = 1;
  EXPECT_TRUE((*stage)->CheckCounts(totals).ok());
}

}  // namespace
}  // namespace pipeline
