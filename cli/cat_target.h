// What `pipe cat` was pointed at, as a list of objects whose kind is known.
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
#include "records/batch.h"
#include "stages/packed_info.h"

namespace pipeline {

enum class ObjectKind : std::uint8_t {
  kShard,       // formats/tfrecord.md, of formats/tf_example.md
  kPartition,   // formats/partition_file.md
  kSpill,       // formats/spill_file.md
  kQuarantine,  // dag/quarantine.md
  kRunLog,      // dag/run_log.md
  kTokenizer,   // formats/sentencepiece_model.md
  kTokenIds,    // snapshots of formats/tfdata.md
  kText,        // lines that are nobody's, compressed as formats/compression.md knows it, or not
};

/// One object, and what its place tells about its records.
struct CatObject {
  ObjectKind kind = ObjectKind::kShard;
  std::string path;  // for messages
  std::function<Result<std::unique_ptr<ByteFile>>()> open;
  std::string split;                   // kShard; empty where unknown
  std::optional<std::uint32_t> shard;  // kShard
  /// kShard: the index beside it (formats/packed.md); empty where there is none.
  std::function<Result<std::unique_ptr<ByteFile>>()> open_index;
  std::shared_ptr<const PackedInfo> rows;  // kShard: of packed rows, where their packed.json is known
  std::optional<std::uint32_t> end_id;  // kTokenIds: stands behind each document or line, where that is known
  std::optional<PartitionId> partition;  // kQuarantine
  std::string stage;                     // kQuarantine; empty where unknown
  std::vector<std::string> split_names;  // kPartition, by number; empty where unknown
};

/// The objects of an artifact, of a directory of partitions, spills or quarantine, or the one object that
/// `what` names. kNotFound and kInvalidArgument where there is nothing of ours, saying what is there instead.
Result<std::vector<CatObject>> FindCatObjects(const std::string& what);

/// The kind of an object of ours by its first bytes and, where these are damaged, by its name;
/// kInvalidArgument, saying what it looks like, for any other.
Result<ObjectKind> KindOf(std::string_view front, std::string_view name);

}  // namespace pipeline
