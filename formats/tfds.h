// What describes a prepared TFDS data set besides its shards. Format and rules: formats/tfds.md.
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
  std::uint64_t bytes = 0;                   // of the examples, without frames
  bool operator==(const TfdsSplit&) const = default;
};

struct TfdsInfo {
  std::string name;
  std::string version;
  std::string description;  // empty where there is none
  std::vector<TfdsSplit> splits;
  bool operator==(const TfdsInfo&) const = default;
};

inline constexpr std::string_view kTfdsInfoFile = "dataset_info.json";
inline constexpr std::string_view kTfdsFeaturesFile = "features.json";

/// The features that records have: a text, and where the data set has labels, the number of one.
inline constexpr std::string_view kTfdsTextFeature = "text";
inline constexpr std::string_view kTfdsLabelFeature = "label";
/// The tokenizer that lines were measured with; only where they have a greatest length.
inline constexpr std::string_view kTfdsTokenizerFile = "tokenizer.model";
/// The names of the labels (formats/label_names.h); only where there are labels.
inline constexpr std::string_view kTfdsLabelsFile = "label.labels.txt";

/// The bytes of dataset_info.json.
std::string TfdsInfoJson(const TfdsInfo& info);
/// kInvalidArgument, naming the field, where `json` is nothing that TFDS and we can read.
Result<TfdsInfo> ParseTfdsInfo(std::string_view json);

/// What features.json says of the records.
struct TfdsFeatures {
  std::vector<std::string> texts = {std::string(kTfdsTextFeature)};  // in any order
  std::size_t labels = 0;  // so many has kTfdsLabelFeature, which is there unless this is 0
  bool operator==(const TfdsFeatures&) const = default;
};

/// The bytes of features.json.
std::string TfdsFeaturesJson(const TfdsFeatures& features = {});
/// kInvalidArgument where `json` is not one that we write; `texts` are sorted.
Result<TfdsFeatures> ParseTfdsFeatures(std::string_view json);

/// "cc100_ja-train.tfrecord-00000-of-01024"
std::string TfdsShardName(std::string_view dataset, std::string_view split, std::uint32_t shard,
                          std::uint32_t shards);

/// OK, or kInvalidArgument saying what is allowed.
Status CheckTfdsName(std::string_view name);
/// Whether TFDS's public bucket gs://tfds-data, or the code that comes with TFDS, has a data set of that
/// name.
bool IsPublicTfdsName(std::string_view name);
Status CheckTfdsVersion(std::string_view version);
Status CheckTfdsSplit(std::string_view split);
Status CheckTfdsFeatures(const std::vector<std::string>& texts, bool labelled);

}  // namespace pipeline
