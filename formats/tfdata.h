// Directories that tf.data.Dataset.load opens, of scalar int32 ids. Format: formats/tfdata.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/digest.h"
#include "base/result.h"

namespace pipeline {

inline constexpr std::string_view kTfdataSpecFile = "dataset_spec.pb";
inline constexpr std::string_view kTfdataMetadataFile = "snapshot.metadata";
inline constexpr std::size_t kTfdataElementBytes = 26;  // of an id in a snapshot, with its frame
inline constexpr std::uint64_t kTfdataWindow = 512;     // ids that JEstimator cuts at once

/// "wikipedia-00003-of-00500".
std::string TfdataDirectoryName(std::string_view name, std::uint32_t number, std::uint32_t count);
/// A decimal number that follows from the names alone: the same data set has the same one.
std::string TfdataRunId(std::string_view directory, const Digest& tokenizer);
/// DIRECTORY/RUN_ID/00000000.shard/00000000.snapshot
std::string TfdataSnapshotName(std::string_view directory, std::string_view run_id);
/// DIRECTORY of a name that TfdataSnapshotName gave; empty for another.
std::string_view TfdataDirectoryOf(std::string_view snapshot);

/// Bytes of an id as it waits for its shard, for a vocabulary of so many.
constexpr std::size_t PackedIdBytes(std::uint32_t vocab_size) { return vocab_size <= 1u << 16 ? 2 : 4; }
/// Appends ids below the vocabulary's size, `width` bytes each, little endian.
void PackIds(std::string& out, std::span<const std::uint32_t> ids, std::size_t width);
/// Appends the framed element of each id of `packed`.
void AppendTfdataElements(std::string& out, std::string_view packed, std::size_t width);

/// The id that the record of an element holds; kDataLoss for any other record than we write.
Result<std::uint32_t> ParseTfdataElement(std::string_view record);

/// dataset_spec.pb: the elements are scalars of int32.
std::string TfdataSpec();

/// snapshot.metadata.
struct TfdataMetadata {
  std::string run_id;
  std::uint64_t elements = 0;
  bool operator==(const TfdataMetadata&) const = default;
};
std::string TfdataMetadataBytes(const TfdataMetadata& metadata);
/// kDataLoss where it is not that of a finished snapshot of version 2 of one component of int32.
Result<TfdataMetadata> ParseTfdataMetadata(std::string_view bytes);

}  // namespace pipeline
