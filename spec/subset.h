// A trial of a pipeline on a part of its text: `--subset 1%`, `--subset 5000`, the key `subset` of what
// reads.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "spec/pipeline_file.h"

namespace pipeline {

/// Which documents are read; all of them, as it is made.
struct Subset {
  /// Of each input, the first so many; what comes after them is not read.
  std::uint64_t documents = std::numeric_limits<std::uint64_t>::max();
  /// Those for which Hash(key) is at most this: equal documents are in it together, or not at all.
  std::uint64_t last_hash = std::numeric_limits<std::uint64_t>::max();

  bool is_beginning() const { return documents != std::numeric_limits<std::uint64_t>::max(); }
  bool Has(std::uint64_t document_key) const {
    return last_hash == std::numeric_limits<std::uint64_t>::max() || Hash(document_key) <= last_hash;
  }
  /// Has nothing to do with the hash by which `split` divides.
  static std::uint64_t Hash(std::uint64_t document_key);
};

/// "1%", "0.5%" or "5000"; kInvalidArgument says so.
Result<Subset> ParseSubset(std::string_view text);

/// The key `subset` of a stage; all where it is absent.
Result<Subset> SubsetOf(const Json& config);

/// The directory of a trial, below that of the whole: "subset-1%".
std::string SubsetPlace(std::string_view text);

/// Makes of `spec` its trial: each stage that reads gets the key, and each `out` a directory below,
/// subset-TEXT. kInvalidArgument where `text` is no subset, or a stage that reads has no such key.
Status ApplySubset(std::string_view text, PipelineSpec& spec);

}  // namespace pipeline
