// Reads every byte of one object of an artifact, and finds its problems.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/byte_reader.h"
#include "dag/books/manifest.h"
#include "stages/verify/findings.h"
#include "text/sentencepiece/sentencepiece_handle.h"

namespace pipeline {

/// A trainer's filter, which drops lines that are too long without a word. Rules: stages/export/tfds/tfds.md,
/// "Long lines".
struct LengthFilter {
  /// Its tokenizer; null: the one beside the data set.
  std::shared_ptr<const SentencePieceEncoder> tokenizer;
  /// Its longest line in tokens, the end mark included; 0: the length that the data set was written for.
  std::size_t max_tokens = 0;
};

/// Lines and their tokens, each with its end mark.
struct LengthCounts {
  std::uint64_t lines = 0;
  std::uint64_t tokens = 0;
  std::uint64_t long_lines = 0;   // dropped by the filter
  std::uint64_t long_tokens = 0;  // of the long lines

  void Add(std::size_t line_tokens, std::size_t max_tokens) {
    ++lines;
    tokens += line_tokens;
    if (line_tokens <= max_tokens) return;
    ++long_lines;
    long_tokens += line_tokens;
  }
  LengthCounts& operator+=(const LengthCounts& other) {
    lines += other.lines, tokens += other.tokens;
    long_lines += other.long_lines, long_tokens += other.long_tokens;
    return *this;
  }
};

/// The amount that was read; if something was wrong, as far as it could be read.
struct ReadCounts {
  std::uint64_t bytes = 0;
  std::map<std::string, std::uint64_t, std::less<>> records;  // by split
  LengthCounts lengths;  // if the export format counts them: ExportCheck::CountsAbove
};

// Each fails if the file cannot be opened, or with kCancelled; all other problems are findings. Records and
// bytes count from 0, lines from 1.

/// Checks length, CRC-32C and digest.
Status VerifyBytes(const ByteFile& file, const StoredObject& object, const std::stop_token& stop,
                   Findings& findings, ReadCounts& counts);

/// A record of a shard. Its frame starts at `offset`.
struct ShardRecord {
  std::uint64_t number = 0;
  std::uint64_t offset = 0;
  std::string_view bytes;
};

/// Checks a shard of TFRecords: its bytes, both checksums of each frame, and each record with `wrong`,
/// which returns the problem or an empty text. Continues after a damaged record if its length is known.
Status VerifyRecords(const ByteFile& file, const ManifestShard& shard,
                     const std::function<std::string(const ShardRecord& record)>& wrong,
                     const std::stop_token& stop, Findings& findings, ReadCounts& counts);

/// Checks a shard of lines, each with its LF: its bytes, the number of lines, and each line, without its
/// LF, with `wrong`, as for VerifyRecords.
Status VerifyLines(const ByteFile& file, const ManifestShard& shard,
                   const std::function<std::string(std::string_view line)>& wrong,
                   const std::stop_token& stop, Findings& findings, ReadCounts& counts);

/// Returns the problem of a text that is not clean UTF-8 (well-formed, without NUL). Empty: there is none.
std::string WrongWithText(std::string_view text);

/// Checks the partition file of `piece`: its bytes, every frame, that texts are clean, and that splits are
/// known.
Status VerifyPartition(const std::shared_ptr<const ByteFile>& file, const PartitionOutput& output,
                       const StoredObject& object, const Schema& schema, const std::stop_token& stop,
                       Findings& findings, ReadCounts& counts);

}  // namespace pipeline
