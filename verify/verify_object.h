// Reads one object of an artifact, every byte of it, and finds what is wrong.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/byte_reader.h"
#include "dag/manifest.h"
#include "verify/findings.h"
#include "verify/length_filter.h"

namespace pipeline {

/// What was read; also where something was wrong, as far as it could be read.
struct ReadCounts {
  std::uint64_t bytes = 0;
  std::map<std::string, std::uint64_t, std::less<>> records;  // by split
  LengthCounts lengths;  // where a hand-off counts them: HandOffCheck::CountsAbove
};

// Each fails with kCancelled alone; all else is a finding. Records and bytes count from 0.

/// Length, CRC-32C and digest.
Status VerifyBytes(const ByteFile& file, const StoredObject& object, const std::stop_token& stop,
                   Findings& findings, ReadCounts& counts);

/// A record of a shard, whose frame begins at `offset`.
struct ShardRecord {
  std::uint64_t number = 0;
  std::uint64_t offset = 0;
  std::string_view bytes;
};

/// A shard of TFRecords: its bytes, both checksums of each frame, and what `wrong` says of each record, empty
/// where nothing is wrong. Goes on after a damaged record where its length is known.
Status VerifyRecords(const ByteFile& file, const ManifestShard& shard,
                     const std::function<std::string(const ShardRecord& record)>& wrong,
                     const std::stop_token& stop, Findings& findings, ReadCounts& counts);

/// A shard of lines, each with its LF: its bytes, how many lines there are, and what `wrong` says of each,
/// which it is given without the LF.
Status VerifyLines(const ByteFile& file, const ManifestShard& shard,
                   const std::function<std::string(std::string_view line)>& wrong,
                   const std::stop_token& stop, Findings& findings, ReadCounts& counts);

/// What is wrong with a text: it is no clean UTF-8. Empty where nothing is.
std::string WrongWithText(std::string_view text);

/// The partition file of `piece`: its bytes, every frame, and that texts are clean and splits are known.
Status VerifyPartition(const std::shared_ptr<const ByteFile>& file, const Piece& piece,
                       const StoredObject& object, const Schema& schema, const std::stop_token& stop,
                       Findings& findings, ReadCounts& counts);

}  // namespace pipeline
