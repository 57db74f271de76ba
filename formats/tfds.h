// What describes a prepared TFDS data set besides its shards. Format and rules: formats/tfds.md.
#pragma once

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

/// The one feature that records have.
inline constexpr std::string_view kTfdsTextFeature = "text";

/// The bytes of dataset_info.json.
std::string TfdsInfoJson(const TfdsInfo& info);
/// kInvalidArgument, naming the field, where `json` is nothing that TFDS and we can read.
Result<TfdsInfo> ParseTfdsInfo(std::string_view json);

/// The bytes of features.json for records with kTfdsTextFeature.
std::string TfdsFeaturesJson();

/// "cc100_ja-train.tfrecord-00000-of-01024"
std::string TfdsShardName(std::string_view dataset, std::string_view split, std::uint32_t shard,
                          std::uint32_t shards);

/// TFDS's choice for a split of so many bytes, frames included, in so many records.
std::uint32_t TfdsShardCount(std::uint64_t framed_bytes, std::uint64_t records);

/// OK, or kInvalidArgument saying what is allowed.
Status CheckTfdsName(std::string_view name);
Status CheckTfdsVersion(std::string_view version);
Status CheckTfdsSplit(std::string_view split);

}  // namespace pipeline
