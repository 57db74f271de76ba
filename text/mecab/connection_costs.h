// Costs of two words one after the other, by the file matrix.bin of a dictionary of MeCab.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "text/mecab/dictionary_file.h"

namespace pipeline {

/// New numbers for the ids of a dictionary, by the old ids: ids that text uses often get small ones, so that
/// their costs lie together.
struct ContextNumbers {
  std::vector<std::uint16_t> left, right;
};

ContextNumbers NumbersByUse(const DictionaryFile& file);

/// A table with a row for each left id of the second word. Immutable once read.
class ConnectionCosts {
 public:
  /// Reads the costs, with `numbers` for ids. kFailedPrecondition: `path` is missing or damaged, or has
  /// another number of ids.
  static Result<ConnectionCosts> Read(const std::string& path, const ContextNumbers& numbers);

  /// Costs of a word with this left id, by the right id of the word before it.
  const std::int16_t* Row(std::uint16_t left) const { return costs_.data() + left * right_ids_; }
  std::uint64_t memory() const { return costs_.capacity() * sizeof(std::int16_t); }

 private:
  std::size_t right_ids_ = 0;
  std::vector<std::int16_t> costs_;
};

}  // namespace pipeline
