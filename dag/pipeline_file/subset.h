// A trial run of a pipeline on a part of its text: `--subset 1%`, `--subset 5000`, or the key `subset` of a
// stage that reads files.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "dag/pipeline_file/pipeline_file.h"

namespace pipeline {

/// The documents that are read. Default: all.
struct Subset {
  /// The number of documents that are read from the beginning of each input. Nothing after them is read.
  std::uint64_t documents = std::numeric_limits<std::uint64_t>::max();
  /// Documents with Hash(key) up to this are in the subset: equal documents are in it together, or not at
  /// all.
  std::uint64_t last_hash = std::numeric_limits<std::uint64_t>::max();

  bool is_beginning() const { return documents != std::numeric_limits<std::uint64_t>::max(); }
  bool Has(std::uint64_t document_key) const {
    return last_hash == std::numeric_limits<std::uint64_t>::max() || Hash(document_key) <= last_hash;
  }
  /// Independent of the hash that `split` divides by.
  static std::uint64_t Hash(std::uint64_t document_key);
};

/// Parses "1%", "0.5%" or "5000". The message of kInvalidArgument names these forms.
Result<Subset> ParseSubset(std::string_view text);

/// Reads the key `subset` of a stage. Absent: all documents.
Result<Subset> SubsetOf(const Json& config);

/// Returns the directory of a trial below that of the full run: "subset-1%".
std::string SubsetLocation(std::string_view text);

/// Turns `spec` into a trial: sets `subset` for each Source, and appends subset-TEXT to each `out`.
/// kInvalidArgument: `text` is no subset, or a Source has no key `subset`.
Status ApplySubset(std::string_view text, PipelineSpec& spec);

}  // namespace pipeline
