// Rows of token ids for language model trainers, and the index beside them. Format: formats/packed.md.
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

/// How rows lie in shards.
enum class PackedEncoding : std::uint8_t { kExample, kRaw16, kRaw32, kMmap, kArrayRecord };

/// As the key `encoding` is written.
std::string_view PackedEncodingName(PackedEncoding encoding);
std::optional<PackedEncoding> PackedEncodingOf(std::string_view name);

/// Whether rows are Examples, which have room for segments.
constexpr bool HasExamples(PackedEncoding encoding) {
  return encoding == PackedEncoding::kExample || encoding == PackedEncoding::kArrayRecord;
}

/// Pieces of a vocabulary whose ids fit into raw16.
inline constexpr std::uint32_t kMostOfRaw16 = 65536;

/// Bytes of an id in rows that are nothing but ids; 0 in Examples.
std::uint32_t PackedIdBytes(PackedEncoding encoding, std::uint32_t vocab_size);

/// The features of rows; the last two where segments were asked for.
inline constexpr std::string_view kPackedFeature = "tokens";
inline constexpr std::string_view kPackedSegmentIds = "segment_ids";
inline constexpr std::string_view kPackedPositions = "positions";

/// Which document each id of a row is of, and where in it: parallel to the ids.
struct PackedSegments {
  std::vector<std::uint32_t> ids;
  std::vector<std::uint32_t> positions;
  bool operator==(const PackedSegments&) const = default;
};

/// Of a row of `ids` ids, `length` of which do not fill it, whose segments after the first begin at `begins`.
PackedSegments SegmentsOf(std::span<const std::uint32_t> begins, std::uint32_t length, std::size_t ids);

/// Appends a row as a tf.train.Example; `segments` is null where none were asked for.
void AppendPackedExample(std::string& out, std::span<const std::uint32_t> ids,
                         const PackedSegments* segments = nullptr);
/// The same in a TFRecord frame.
void AppendPackedRow(std::string& out, std::span<const std::uint32_t> ids,
                     const PackedSegments* segments = nullptr);

/// Reads the Example of a row into `ids`, and into `segments` unless that is null. kDataLoss where it is
/// none, has other features than these, or an id is not below 2^32.
Status ParsePackedRow(std::string_view example, std::vector<std::uint32_t>& ids,
                      PackedSegments* segments = nullptr);

/// Appends ids of `id_bytes` bytes each, 2 or 4, little endian; a higher id than that holds is cut off.
void AppendRawIds(std::string& out, std::span<const std::uint32_t> ids, std::uint32_t id_bytes);
/// Reads all of `bytes`. kDataLoss where they are no whole number of ids.
Status ParseRawIds(std::string_view bytes, std::uint32_t id_bytes, std::vector<std::uint32_t>& ids);

/// What the index keeps of a row beside its offset.
struct PackedRowFacts {
  std::uint32_t length = 0;  // ids without those that fill it
  std::uint32_t bytes = 0;   // of the text under its targets
  std::uint32_t chars = 0;   // of that text
  bool operator==(const PackedRowFacts&) const = default;
};
/// How many numbers these are.
inline constexpr std::size_t kPackedIndexNumbers = 3;
/// Bytes of an entry with its offset.
inline constexpr std::size_t kPackedEntryBytes = 20;

/// Appends an index entry without its offset.
void AppendPackedRowFacts(std::string& out, const PackedRowFacts& facts);

struct PackedIndexEntry {
  std::uint64_t offset = 0;  // of the row in the shard
  PackedRowFacts facts;
  bool operator==(const PackedIndexEntry&) const = default;
};

/// The whole of an index. kDataLoss naming the entry where it is none.
Result<std::vector<PackedIndexEntry>> ParsePackedIndex(std::string_view bytes);

/// "train-00003-of-00008.tfrecord" and "train-00003-of-00008.idx"; of other encodings as formats/packed.md
/// says.
std::string PackedShardName(std::string_view split, std::uint32_t shard, std::uint32_t shards,
                            PackedEncoding encoding = PackedEncoding::kExample);
std::string PackedIndexName(std::string_view split, std::uint32_t shard, std::uint32_t shards,
                            PackedEncoding encoding = PackedEncoding::kExample);

/// The index of the shard `object`; empty where it is not named as PackedShardName names one.
std::string PackedIndexOf(std::string_view object, PackedEncoding encoding = PackedEncoding::kExample);

}  // namespace pipeline
