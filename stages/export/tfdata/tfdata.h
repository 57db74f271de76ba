// Directories for tf.data.Dataset.load, with scalar int32 ids, and tfdata.json, which describes them. Format:
// stages/export/tfdata/tfdata.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "stages/tokenizer/tokenizer_facts.h"

namespace pipeline {

inline constexpr std::string_view kTfdataSpecFile = "dataset_spec.pb";
inline constexpr std::string_view kTfdataMetadataFile = "snapshot.metadata";
inline constexpr std::size_t kTfdataElementBytes = 26;  // bytes of an id in a snapshot, with its frame
inline constexpr std::uint64_t kTfdataWindow = 512;     // ids in one window of JEstimator

/// "wikipedia-00003-of-00500".
std::string TfdataDirectoryName(std::string_view name, std::uint32_t number, std::uint32_t count);
/// Returns a decimal number that depends on the arguments alone: the same data always has the same run id.
std::string TfdataRunId(std::string_view directory, const Digest& tokenizer);
/// DIRECTORY/RUN_ID/00000000.shard/00000000.snapshot
std::string TfdataSnapshotName(std::string_view directory, std::string_view run_id);
/// Returns the DIRECTORY of a name from TfdataSnapshotName; empty for other names.
std::string_view TfdataDirectoryOf(std::string_view snapshot);

/// Bytes of an id that waits for its shard, by the size of the vocabulary.
constexpr std::size_t PackedIdBytes(std::uint32_t vocab_size) { return vocab_size <= 1u << 16 ? 2 : 4; }
/// Appends ids, `width` bytes each, little endian. Each id is below the size of the vocabulary.
void PackIds(std::string& out, std::span<const std::uint32_t> ids, std::size_t width);
/// Appends a framed element for each id in `packed`.
void AppendTfdataElements(std::string& out, std::string_view packed, std::size_t width);

/// Returns the id in the record of an element. kDataLoss: AppendTfdataElements does not write such a
/// record.
Result<std::uint32_t> ParseTfdataElement(std::string_view record);

/// Returns the bytes of dataset_spec.pb: the elements are scalars of int32.
std::string TfdataSpec();

/// Content of snapshot.metadata.
struct TfdataMetadata {
  std::string run_id;
  std::uint64_t elements = 0;
  bool operator==(const TfdataMetadata&) const = default;
};
std::string TfdataMetadataBytes(const TfdataMetadata& metadata);
/// kDataLoss: not the metadata of a finished snapshot of version 2 with one int32 component.
Result<TfdataMetadata> ParseTfdataMetadata(std::string_view bytes);

inline constexpr std::string_view kTfdataInfoFile = "tfdata.json";
/// The version of its form that is written; no other one is read.
inline constexpr std::uint32_t kTfdataVersion = 1;
inline constexpr std::string_view kTfdataModelFile = "tokenizer.model";

struct TfdataDirectory {
  std::string name;
  std::string run_id;
  std::uint64_t ids = 0;
  std::uint64_t documents = 0;
  bool operator==(const TfdataDirectory&) const = default;
};

struct TfdataSplit {
  std::string name;
  std::vector<TfdataDirectory> directories;
  std::uint64_t ids() const;
  bool operator==(const TfdataSplit&) const = default;
};

struct TfdataInfo {
  std::string eos;           // after each "document" or "line", or "none"
  TokenizerFacts tokenizer;  // `model` is kTfdataModelFile
  std::vector<TfdataSplit> splits;
  bool operator==(const TfdataInfo&) const = default;
};

std::string TfdataInfoJson(const TfdataInfo& info);

/// kDataLoss names the missing or wrong member; kFailedPrecondition for another version.
Result<TfdataInfo> ParseTfdataInfo(std::string_view text);

}  // namespace pipeline
