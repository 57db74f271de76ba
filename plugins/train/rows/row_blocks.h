// Finds the rows of a block in the shards: reader/ORDER.md, rows.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "plugins/train/file_facts.h"

namespace pipeline {

/// The rows of one block in one shard.
struct RowRange {
  std::uint64_t block = 0;
  std::uint32_t shard = 0;  // in RowBlocks::shards()
  std::uint64_t from = 0;   // bytes [from, to) of the shard
  std::uint64_t to = 0;

  std::uint64_t bytes() const { return to - from; }
  /// The name of its file.
  std::string Name() const;
};

/// The blocks of one split of packed data. Does not change.
class RowBlocks {
 public:
  /// Reads the indexes of the split's shards in `directory`. `objects`: those of the manifest. kDataLoss: the
  /// description, the manifest and the indexes contradict each other.
  static Result<RowBlocks> Read(const Json& packed, std::string_view split,
                                const std::vector<FileFacts>& objects, const std::string& directory);

  std::uint64_t rows() const { return rows_; }
  std::uint64_t count() const { return first_range_.size() - 1; }
  const std::vector<FileFacts>& shards() const { return shards_; }
  /// All ranges, in the order of the rows; so those of a shard, and those of a block, follow each other.
  const std::vector<RowRange>& ranges() const { return ranges_; }
  /// The ranges of a block; their numbers in ranges() begin at FirstRange.
  std::span<const RowRange> RangesOf(std::uint64_t block) const;
  std::uint64_t FirstRange(std::uint64_t block) const { return first_range_[block]; }
  std::uint64_t BytesOf(std::uint64_t block) const;
  /// The bytes that a training needs at a time: the 18 largest blocks.
  std::uint64_t LeastBytes() const;

 private:
  std::uint64_t rows_ = 0;
  std::vector<FileFacts> shards_;
  std::vector<RowRange> ranges_;
  std::vector<std::uint64_t> first_range_;  // by block, and the end
};

}  // namespace pipeline
