// Artifacts of a few records, made by hand, for the commands that read them.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/crc32c.h"
#include "dag/books/manifest.h"
#include "dag/location/publishing.h"
#include "dag/records/partition_output.h"
#include "formats/label_names.h"
#include "formats/partition_file.h"
#include "formats/tf_example.h"
#include "formats/tfrecord.h"
#include "stages/export/tfds/tfds.h"
#include "tests/support/temp_dir.h"

namespace pipeline {

/// As whoever made it would say them.
inline void SetRecipes(Lineage& lineage) {
  std::optional<Digest> recipe;
  for (LineageStage& stage : lineage) recipe = stage.recipe = RecipeOf(stage, recipe);
}

inline StoredObject Stored(std::string name, std::string_view bytes) {
  return {std::move(name), bytes.size(), Crc32c(bytes), DigestOf(bytes)};
}

inline std::string TextExample(std::string_view text) {
  std::string example;
  AppendTextExample(example, kTfdsTextFeature, text);
  return example;
}

inline std::string Framed(const std::vector<std::string>& examples) {
  std::string shard;
  for (const std::string& example : examples) AppendTfRecord(shard, example);
  return shard;
}

/// Puts together what `write_tfds` leaves; damage is up to the test.
class SmallDataSet {
 public:
  explicit SmallDataSet(std::string place) : place_(std::move(place)) {
    std::filesystem::create_directories(std::filesystem::path(place_) / ".pipe");
    LineageStage stage;
    stage.stage = "text";
    stage.type = "write_tfds";
    stage.config["name"] = "tiny";
    stage.config["version"] = "1.0.0";
    stage.recipe = DigestOf("recipe");
    manifest_.lineage = {stage};
    manifest_.schema = {{{"text", ColumnType::kUtf8}}, {"train", "validation"}};
    info_ = {"tiny", "1.0.0", "", {}};
  }

  /// A split with one shard for each element of `shards`, which holds examples.
  void AddSplit(const std::string& split, const std::vector<std::vector<std::string>>& shards) {
    info_.splits.push_back({split, {}, 0});
    const auto count = static_cast<std::uint32_t>(shards.size());
    for (std::uint32_t number = 0; number < count; ++number) {
      const std::string bytes = Framed(shards[number]);
      const std::string name = TfdsShardName("tiny", split, number, count);
      WriteFile(Path(name), bytes);
      const std::uint64_t records = shards[number].size();
      manifest_.shards.push_back({split, number, count, records, Stored(name, bytes)});
      manifest_.splits[split].records += records;
      info_.splits.back().shard_lengths.push_back(records);
      info_.splits.back().bytes += bytes.size() - kTfRecordOverhead * records;
    }
  }

  /// Before Finish: the records have one of these, which a file names or the configuration.
  void SetLabels(const std::vector<std::string>& labels, bool of_file = false) {
    labels_ = labels;
    if (of_file) return manifest_.lineage.back().sources.push_back({"labels", "digest"});
    for (const std::string& label : labels) manifest_.lineage.back().config["labels"].Append(label);
  }
  /// Before Finish: the texts of the records.
  void SetFeatures(const std::vector<std::string>& features) {
    features_ = features;
    for (const std::string& name : features) manifest_.lineage.back().config["features"].Append(name);
  }

  void Finish() {
    WriteFile(Path(kMarkerName), "{}\n");
    manifest_.sidecars = {WriteSidecar(kTfdsInfoFile, TfdsInfoJson(info_))};
    if (!labels_.empty())
      manifest_.sidecars.push_back(WriteSidecar(kTfdsLabelsFile, LabelNamesText(labels_)));
    manifest_.followers = {WriteSidecar(kTfdsFeaturesFile, TfdsFeaturesJson({features_, labels_.size()}))};
    SetRecipes(manifest_.lineage);
    WriteFile(Path(kManifestName), EncodeManifest(manifest_));
  }

  const std::string& place() const { return place_; }
  std::string Path(std::string_view object) const { return place_ + "/" + std::string(object); }
  TfdsInfo& info() { return info_; }
  Manifest& manifest() { return manifest_; }

 private:
  StoredObject WriteSidecar(std::string_view name, const std::string& bytes) const {
    WriteFile(Path(name), bytes);
    return Stored(std::string(name), bytes);
  }

  std::string place_;
  Manifest manifest_;
  TfdsInfo info_;
  std::vector<std::string> labels_;
  std::vector<std::string> features_ = {std::string(kTfdsTextFeature)};
};

/// train: "猫が鳴く", "two\nlines" | "three"; validation: "four".
inline SmallDataSet GoodDataSet(const std::string& place) {
  SmallDataSet set(place);
  set.AddSplit("train", {{TextExample("猫が鳴く"), TextExample("two\nlines")}, {TextExample("three")}});
  set.AddSplit("validation", {{TextExample("four")}});
  set.Finish();
  return set;
}

inline constexpr std::string_view kFirstShard = "tiny-train.tfrecord-00000-of-00002";

/// The bytes of a partition file of texts, each of the split with that number.
inline std::string PartitionFileOf(PartitionId id, const std::vector<std::string>& texts,
                                   const std::vector<std::uint8_t>& splits, Digest& digest) {
  const PartitionColumns columns = {{"split", PartitionColumnType::kU8},
                                    {"text", PartitionColumnType::kUtf8}};
  std::vector<PartitionHead> heads;
  PartitionRows::Column text, split;
  split.values = splits;
  for (const std::string& line : texts) {
    heads.push_back({heads.size(), 0, heads.size() / 2, 0xabc + heads.size() / 2});
    text.bytes += line;
    text.ends.push_back(static_cast<std::uint32_t>(text.bytes.size()));
  }
  const std::vector<ColumnView> views = {split.view(), text.view()};
  const RowsView rows = {heads, views};
  std::string file;
  PartitionFileWriter writer(columns, [&file](std::string_view bytes) {
    file.append(bytes);
    return Status();
  });
  std::string frames;
  EXPECT_TRUE(PartitionFrameEncoder(columns).Encode(rows, frames).ok());
  EXPECT_TRUE(writer.Append(frames, rows).ok());
  digest = writer.digest();
  EXPECT_TRUE(writer.Finish({id.input, id.partition, 100, 2}).ok());
  return file;
}

/// A kept intermediate of two partitions: "one" (train), "two" (validation) | "three" (train).
inline Manifest GoodIntermediate(const std::string& place) {
  std::filesystem::create_directories(place);
  Manifest manifest;
  LineageStage stage;
  stage.stage = "docs";
  stage.type = "split";
  stage.config = Json::Object{};
  stage.recipe = DigestOf("recipe");
  manifest.lineage = {stage};
  manifest.schema = {{{"split", ColumnType::kU8}, {"text", ColumnType::kUtf8}}, {"train", "validation"}};
  const std::vector<std::pair<std::vector<std::string>, std::vector<std::uint8_t>>> partitions = {
      {{"one", "two"}, {0, 1}}, {{"three"}, {0}}};
  for (std::uint32_t number = 0; number < partitions.size(); ++number) {
    PartitionOutput output;
    output.id = {0, number};
    const auto& [texts, splits] = partitions[number];
    const std::string bytes = PartitionFileOf(output.id, texts, splits, output.committed.digest);
    const std::string name = OutputName(output.id, ".part");
    WriteFile(place + "/" + name, bytes);
    output.committed.objects = {Stored(name, bytes)};
    for (const std::uint8_t split : splits) {
      ++output.splits[manifest.schema.splits[split]].records;
      ++manifest.splits[manifest.schema.splits[split]].records;
    }
    manifest.partitions.push_back(std::move(output));
  }
  SetRecipes(manifest.lineage);
  WriteFile(place + "/" + std::string(kManifestName), EncodeManifest(manifest));
  return manifest;
}

}  // namespace pipeline
