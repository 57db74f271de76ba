// Edges of the graph: the kind of their data, and the named inputs of a stage.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace pipeline {

struct Schema;

/// The kind of data on an edge between two stages of the graph. The type of a stage names the kind that it
/// takes and the kind that it gives; both ends of an edge must have the same kind.
enum class Flow : std::uint8_t {
  kFiles,     // whole files, which a Source opens
  kRecords,   // batches of records
  kArtifact,  // whole artifacts, from a Job or a publishing Sink
  kNothing,   // as input: none; as output: a published artifact that no stage reads
};

/// A key, beside `input`, whose value names the stage that makes an artifact.
struct NamedInput {
  std::string_view name;
  bool or_file = false;  // the value may also be the path of a file
  bool required = true;
  std::string_view help = {};
  /// If the key is left out: the stage uses the input of this name of the nearest stage before it.
  bool inherited = false;
  /// kArtifact, or kRecords. With kRecords the given stage's records are kept, and read once all of them
  /// exist.
  Flow takes = Flow::kArtifact;
  bool many = false;  // the value may be a list; not with `inherited` or `or_file`
  /// With `or_file`: returns the paths of the other files of the value, beside the file at `path`; the bytes
  /// of all of them count. A file that is not there is no error. kInvalidArgument: the stage can never use
  /// this file. `pipe validate` and plans call it; loading a pipeline file does not, so that a file on the
  /// disk never hides what is known of a run. If absent: each file stands for itself.
  Result<std::vector<std::string>> (*other_files)(const std::string& path) = nullptr;
};

/// Facts that are known about an artifact before its stage runs.
struct Promise {
  std::string_view named_input;  // the named input of the reader
  std::string_view maker;        // type of the stage that makes it
  const Json& config;            // of that stage
  const Schema& schema;          // of the records that the maker reads
  Json facts;                    // from StageType::promises
};

}  // namespace pipeline
