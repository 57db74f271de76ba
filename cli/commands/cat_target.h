// Finds the objects that `pipe cat` prints, and their kinds.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_reader.h"
#include "base/result.h"
#include "dag/records/batch.h"
#include "stages/export/packed/packed_info.h"

namespace pipeline {

enum class ObjectKind : std::uint8_t {
  kShard,       // formats/tfrecord.md with formats/tf_example.md
  kPartition,   // formats/partition_file.md
  kSpill,       // formats/spill_file.md
  kQuarantine,  // dag/books/quarantine.md
  kRunLog,      // dag/books/run_log.md
  kTokenizer,   // formats/sentencepiece_model.md
  kTokenIds,    // snapshots of stages/export/tfdata/tfdata.md
  kText,        // lines of any other file, plain or compressed as in formats/compression.md
};

/// One object, with the facts that its location tells about its records.
struct CatObject {
  ObjectKind kind = ObjectKind::kShard;
  std::string path;  // for messages
  std::function<Result<std::unique_ptr<ByteFile>>()> open;
  std::string split;                   // kShard; empty: unknown
  std::optional<std::uint32_t> shard;  // kShard
  /// kShard: the index beside it (stages/export/packed/packed.md); empty: there is none.
  std::function<Result<std::unique_ptr<ByteFile>>()> open_index;
  std::shared_ptr<const PackedInfo> rows;  // kShard: of packed rows, if their packed.json is known
  std::optional<std::uint32_t> end_id;     // kTokenIds: the id that ends each document or line, if known
  std::optional<PartitionId> partition;    // kQuarantine
  std::string stage;                       // kQuarantine; empty: unknown
  std::vector<std::string> split_names;    // kPartition, by number; empty: unknown
};

/// Finds the objects of an artifact, of a directory of partitions, spills or quarantine, or the one object
/// `what`. kNotFound or kInvalidArgument if nothing there is ours; the message says what exists instead.
Result<std::vector<CatObject>> FindCatObjects(const std::string& what);

/// The kind of one of our objects, from its first bytes or, if they are damaged, from its name;
/// kInvalidArgument for other files, with a guess of their format.
Result<ObjectKind> KindOf(std::string_view front, std::string_view name);

}  // namespace pipeline
