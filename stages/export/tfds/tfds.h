// Metadata files of a prepared TFDS data set. Format and rules: stages/export/tfds/tfds.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pipeline {

struct TfdsSplit {
  std::string name;
  std::vector<std::uint64_t> shard_lengths;  // records of each shard
  std::uint64_t bytes = 0;                   // of the examples, without record frames
  bool operator==(const TfdsSplit&) const = default;
};

struct TfdsInfo {
  std::string name;
  std::string version;
  std::string description;  // empty: none
  std::vector<TfdsSplit> splits;
  bool operator==(const TfdsInfo&) const = default;
};

inline constexpr std::string_view kTfdsInfoFile = "dataset_info.json";
inline constexpr std::string_view kTfdsFeaturesFile = "features.json";

/// Features of a record: a text, and with labels the number of a label.
inline constexpr std::string_view kTfdsTextFeature = "text";
inline constexpr std::string_view kTfdsLabelFeature = "label";
/// The tokenizer that measured the lines; only with a limit of tokens per line.
inline constexpr std::string_view kTfdsTokenizerFile = "tokenizer.model";
/// The names of the labels (formats/label_names.h); only with labels.
inline constexpr std::string_view kTfdsLabelsFile = "label.labels.txt";

/// Returns the bytes of dataset_info.json.
std::string TfdsInfoJson(const TfdsInfo& info);
/// kInvalidArgument names a field that TFDS or this reader cannot read.
Result<TfdsInfo> ParseTfdsInfo(std::string_view json);

/// The features of records in features.json.
struct TfdsFeatures {
  std::vector<std::string> texts = {std::string(kTfdsTextFeature)};  // in any order
  std::size_t labels = 0;  // number of labels; 0: no feature kTfdsLabelFeature
  bool operator==(const TfdsFeatures&) const = default;
};

/// Returns the bytes of features.json.
std::string TfdsFeaturesJson(const TfdsFeatures& features = {});
/// kInvalidArgument: `json` is not in the form that TfdsFeaturesJson writes. `texts` are sorted.
Result<TfdsFeatures> ParseTfdsFeatures(std::string_view json);

/// "cc100_ja-train.tfrecord-00000-of-01024"
std::string TfdsShardName(std::string_view dataset, std::string_view split, std::uint32_t shard,
                          std::uint32_t shards);

/// kInvalidArgument names the allowed form.
Status CheckTfdsName(std::string_view name);
/// True if the public bucket gs://tfds-data, or the code of TFDS, has a data set of this name.
bool IsPublicTfdsName(std::string_view name);
Status CheckTfdsVersion(std::string_view version);
Status CheckTfdsSplit(std::string_view split);
Status CheckTfdsFeatures(const std::vector<std::string>& texts, bool labelled);

}  // namespace pipeline
