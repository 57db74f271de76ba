// Packed rows: token ids for language model trainers, and the index of each shard. Format:
// stages/export/packed/packed.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pipeline {

inline constexpr std::string_view kPackedInfoFile = "packed.json";
inline constexpr std::string_view kPackedModelFile = "tokenizer.model";

/// Encoding of rows in a shard.
enum class PackedEncoding : std::uint8_t { kExample, kRaw16, kRaw32, kMmap, kArrayRecord };

/// Converts from and to a value of the key `encoding`. Absent: unknown name.
std::string_view PackedEncodingName(PackedEncoding encoding);
std::optional<PackedEncoding> PackedEncodingOf(std::string_view name);

/// True if rows are tf.train.Examples, which can hold segments and weights.
constexpr bool HasExamples(PackedEncoding encoding) {
  return encoding == PackedEncoding::kExample || encoding == PackedEncoding::kArrayRecord;
}

/// Largest vocabulary whose ids fit into raw16.
inline constexpr std::uint32_t kMostOfRaw16 = 65536;

/// Bytes per id in rows that consist of ids alone; 0 for Examples.
std::uint32_t PackedIdBytes(PackedEncoding encoding, std::uint32_t vocab_size);

/// Features of a row; the next two exist only with `segments: true`, the last one only with weights.
inline constexpr std::string_view kPackedFeature = "tokens";
inline constexpr std::string_view kPackedSegmentIds = "segment_ids";
inline constexpr std::string_view kPackedPositions = "positions";
inline constexpr std::string_view kPackedWeights = "weights";

/// For each id of a row: the segment (document) that it belongs to, and its position in that segment.
struct PackedSegments {
  std::vector<std::uint32_t> ids;
  std::vector<std::uint32_t> positions;
  bool operator==(const PackedSegments&) const = default;
};

/// Returns the segments of a row of `ids` ids. The first `length` ids are content, the rest is padding.
/// `begins`: positions where the segments after the first begin.
PackedSegments SegmentsOf(std::span<const std::uint32_t> begins, std::uint32_t length, std::size_t ids);

/// Appends a row as a tf.train.Example. `segments` null: without segment features; `weights` empty: without
/// that feature, else one for each id.
void AppendPackedExample(std::string& out, std::span<const std::uint32_t> ids,
                         const PackedSegments* segments = nullptr,
                         std::span<const std::uint32_t> weights = {});
/// Appends the same Example in a TFRecord frame.
void AppendPackedRow(std::string& out, std::span<const std::uint32_t> ids,
                     const PackedSegments* segments = nullptr, std::span<const std::uint32_t> weights = {});

/// Parses the Example of a row into `ids`, and into `segments` and `weights` unless they are null. kDataLoss:
/// `example` is not an Example, has other features, or has a number outside 0 to 2^32 - 1.
Status ParsePackedRow(std::string_view example, std::vector<std::uint32_t>& ids,
                      PackedSegments* segments = nullptr, std::vector<std::uint32_t>* weights = nullptr);

/// Appends ids of `id_bytes` bytes each, 2 or 4, little endian. High bytes that do not fit are lost.
void AppendRawIds(std::string& out, std::span<const std::uint32_t> ids, std::uint32_t id_bytes);
/// Parses all of `bytes`. kDataLoss: the number of bytes is not a multiple of `id_bytes`.
Status ParseRawIds(std::string_view bytes, std::uint32_t id_bytes, std::vector<std::uint32_t>& ids);

/// Index entry of a row, without its offset.
struct PackedRowFacts {
  std::uint32_t length = 0;  // ids without padding
  std::uint32_t bytes = 0;   // bytes of the text of its targets; with weights, of its scored targets
  std::uint32_t chars = 0;   // characters of that text
  bool operator==(const PackedRowFacts&) const = default;
};
/// Number of members of PackedRowFacts.
inline constexpr std::size_t kPackedIndexNumbers = 3;
/// Numbers before a row with weights until its shard is made: those, then its scored targets.
inline constexpr std::size_t kPackedWeightedNumbers = kPackedIndexNumbers + 1;
/// Bytes of an index entry with its offset.
inline constexpr std::size_t kPackedEntryBytes = 20;

/// Appends an index entry without its offset.
void AppendPackedRowFacts(std::string& out, const PackedRowFacts& facts);

struct PackedIndexEntry {
  std::uint64_t offset = 0;  // of the row in the shard
  PackedRowFacts facts;
  bool operator==(const PackedIndexEntry&) const = default;
};

/// Parses a whole index. kDataLoss names the wrong entry.
Result<std::vector<PackedIndexEntry>> ParsePackedIndex(std::string_view bytes);

/// "train-00003-of-00008.tfrecord" and "train-00003-of-00008.idx". Names for other encodings:
/// stages/export/packed/packed.md.
std::string PackedShardName(std::string_view split, std::uint32_t shard, std::uint32_t shards,
                            PackedEncoding encoding = PackedEncoding::kExample);
std::string PackedIndexName(std::string_view split, std::uint32_t shard, std::uint32_t shards,
                            PackedEncoding encoding = PackedEncoding::kExample);

/// Returns the name of the index of the shard `object`. Empty: `object` does not end like a shard of this
/// encoding.
std::string PackedIndexOf(std::string_view object, PackedEncoding encoding = PackedEncoding::kExample);

}  // namespace pipeline
