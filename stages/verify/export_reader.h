// Reads the shards of an export format, for `pipe cat` and `pipe stats`.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/byte_reader.h"
#include "base/json.h"
#include "base/result.h"

namespace pipeline {

/// The output of a reader that prints records: a line for people, or a JSON object for programs. One thread
/// at a time.
class RecordOutput {
 public:
  virtual ~RecordOutput() = default;
  /// True if the caller must use Object instead of Line.
  virtual bool json() const = 0;
  /// True if no more records are wanted.
  virtual bool done() const = 0;
  virtual void Line(std::string_view text) = 0;
  virtual void Object(const Json& record) = 0;
};

/// Takes from a reader everything that a trainer sees of each record. One thread at a time.
class RecordStatistics {
 public:
  virtual ~RecordStatistics() = default;
  /// Adds the text of a record; valid UTF-8.
  virtual void AddText(std::string_view text) = 0;
  /// Adds the number of ids of a record.
  virtual void AddIds(std::uint64_t ids) = 0;
  /// Adds text that was counted when its ids were made and is no longer available.
  virtual void AddCounted(std::uint64_t characters, std::uint64_t bytes) = 0;
  virtual void AddDocuments(std::uint64_t documents) = 0;
};

// The most that a check or a reader of an export takes into memory at once; a larger object is damaged.
/// Bytes of a description beside the shards.
inline constexpr std::uint64_t kMaxDescriptionBytes = std::uint64_t{1} << 30;

/// Bytes of one record of a TFRecord file.
inline constexpr std::uint64_t kMaxRecordBytes = std::uint64_t{1} << 30;

/// A shard to read. The caller owns the memory.
struct ShardFile {
  const ByteFile& bytes;
  std::string_view name;        // in its artifact; of a file that a person names: the last part of its path
  std::string_view split = {};  // empty: unknown
  std::optional<std::uint32_t> number = {};  // of the shard in its split; absent: unknown
};

/// Opens an object beside the shards by its name in the artifact; null: there is none. For a file that a
/// person names it looks in the directory of the file, then in the one above.
using OpenBeside = std::function<Result<std::unique_ptr<ByteFile>>(std::string_view name)>;

/// Returns the whole of an object beside the shards; absent: there is none, or it cannot be read.
std::optional<std::string> ReadBeside(const OpenBeside& beside, std::string_view name);

/// Reads any shard of one artifact. The function that makes it reads the descriptions beside the shards.
/// One thread at a time.
class ExportReader {
 public:
  virtual ~ExportReader() = default;
  /// Prints records from the front until `output` wants no more. On an error, the records before it were
  /// printed.
  virtual Status Print(const ShardFile& shard, RecordOutput& output) const = 0;
  /// Adds each record to `statistics`. kInvalidArgument: a record has nothing to count.
  virtual Status Count(const ShardFile& shard, RecordStatistics& statistics) const = 0;
};

/// The error of Count for a record, or a whole file, without text and ids.
Status NothingToCount(std::string_view what);

}  // namespace pipeline
