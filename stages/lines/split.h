// The stage that decides, once, which documents are used for training and which are held out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "dag/pipeline_file/stage_type.h"

namespace pipeline {

/// Assigns a document to a split by its key alone: equal documents share a split, and no other document,
/// stage or setting changes it. Immutable.
///
/// The key is hashed again with a separate seed, so that the split tells nothing about the document's
/// position in a shuffle. The hashes 0 .. 2^64-1 are divided, in the order of the file, into one range per
/// split, floor(fraction * 2^64) wide; the last split gets the rest.
class SplitRule {
 public:
  /// Takes the JSON form of ValueType::kSplits. kInvalidArgument unless there are 1 to 256 splits with
  /// different names and with fractions above 0 that add up to 1.
  static Result<SplitRule> Make(const Json& splits);

  const std::vector<std::string>& names() const { return names_; }
  const std::vector<double>& fractions() const { return fractions_; }

  /// The index of the split for a document key.
  std::uint8_t Of(std::uint64_t key) const { return OfHash(HashKey(key)); }
  static std::uint64_t HashKey(std::uint64_t key);
  std::uint8_t OfHash(std::uint64_t hash) const;

 private:
  std::vector<std::string> names_;
  std::vector<double> fractions_;
  std::vector<std::uint64_t> ends_;  // of the ranges of all splits but the last
};

StageType SplitType();

}  // namespace pipeline
