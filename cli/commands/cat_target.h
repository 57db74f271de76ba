// Finds the objects that `pipe cat` prints, and their kinds.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/byte_reader.h"
#include "base/result.h"
#include "dag/records/batch.h"
#include "stages/verify/export_reader.h"

namespace pipeline {

enum class ObjectKind : std::uint8_t {
  kShard,       // of an export format, or tf.Examples of another program
  kPartition,   // formats/partition_file.md
  kSpill,       // formats/spill_file.md
  kQuarantine,  // dag/books/quarantine.md
  kRunLog,      // dag/books/run_log.md
  kTokenizer,   // formats/sentencepiece_model.md
  kText,        // lines of any other file, plain or compressed as in formats/compression.md
};

/// One object, with the facts that its location tells about its records.
struct CatObject {
  ObjectKind kind = ObjectKind::kShard;
  std::string path;  // for messages
  std::function<Result<std::unique_ptr<ByteFile>>()> open;
  std::string name;                            // kShard, kText: for the reader
  std::shared_ptr<const ExportReader> reader;  // kShard, kText
  std::string split;                           // kShard; empty: unknown
  std::optional<std::uint32_t> shard;          // kShard: its number, if known
  std::optional<PartitionId> partition;        // kQuarantine
  std::string stage;                           // kQuarantine; empty: unknown
  std::vector<std::string> split_names;        // kPartition, by number; empty: unknown
};

/// Finds the objects of an artifact, of a directory of partitions, spills or quarantine, or the one object
/// `what`. kNotFound or kInvalidArgument if nothing there is ours; the message says what exists instead.
Result<std::vector<CatObject>> FindCatObjects(const std::string& what);

}  // namespace pipeline
