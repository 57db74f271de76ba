// Rows of token ids for language model trainers, and the index beside them. Format: formats/packed.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pipeline {

inline constexpr std::string_view kPackedInfoFile = "packed.json";
inline constexpr std::string_view kPackedModelFile = "tokenizer.model";

/// The one feature that rows have.
inline constexpr std::string_view kPackedFeature = "tokens";

/// Appends a row as a tf.train.Example in a TFRecord frame.
void AppendPackedRow(std::string& out, std::span<const std::uint32_t> ids);

/// Reads the Example of a row into `ids`. kDataLoss where it is none, or an id is not below 2^32.
Status ParsePackedRow(std::string_view example, std::vector<std::uint32_t>& ids);

/// What the index keeps of a row beside its offset.
struct PackedRowFacts {
  std::uint32_t length = 0;  // ids without those that fill it
  std::uint32_t bytes = 0;   // of the text under its targets
  std::uint32_t chars = 0;   // of that text
  bool operator==(const PackedRowFacts&) const = default;
};
/// How many numbers these are.
inline constexpr std::size_t kPackedIndexNumbers = 3;

/// Appends an index entry without its offset.
void AppendPackedRowFacts(std::string& out, const PackedRowFacts& facts);

struct PackedIndexEntry {
  std::uint64_t offset = 0;  // of the row in the shard
  PackedRowFacts facts;
  bool operator==(const PackedIndexEntry&) const = default;
};

/// The whole of an index. kDataLoss naming the entry where it is none.
Result<std::vector<PackedIndexEntry>> ParsePackedIndex(std::string_view bytes);

/// "train-00003-of-00008.tfrecord" and "train-00003-of-00008.idx"
std::string PackedShardName(std::string_view split, std::uint32_t shard, std::uint32_t shards);
std::string PackedIndexName(std::string_view split, std::uint32_t shard, std::uint32_t shards);

/// The index of the shard `object`; empty where it is not named as PackedShardName names one.
std::string PackedIndexOf(std::string_view object);

}  // namespace pipeline
