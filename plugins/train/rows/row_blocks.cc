#include "plugins/train/rows/row_blocks.h"

#include <algorithm>
#include <fstream>
#include <functional>

#include "base/str.h"
#include "plugins/train/reader/sample_order.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kBlockRows = kPipeBlockRows;
constexpr std::uint64_t kEntryBytes = 20;  // of an index
constexpr std::uint64_t kNeeded = kPipeWindowBlocks + 2;

/// Reads offsets from the index of a shard: stages/export/packed/packed.md.
class ShardIndex {
 public:
  explicit ShardIndex(const std::string& path) : path_(path), file_(path, std::ios::binary) {}

  Result<std::uint64_t> OffsetOf(std::uint64_t row) {
    unsigned char bytes[8] = {};
    file_.seekg(static_cast<std::streamoff>(row * kEntryBytes));
    if (!file_.read(reinterpret_cast<char*>(bytes), sizeof bytes))
      return Status(Code::kDataLoss, StrCat(path_, ": has no entry of row ", row));
    std::uint64_t offset = 0;
    for (std::size_t at = sizeof bytes; at-- > 0;) offset = offset << 8 | bytes[at];
    return offset;
  }

 private:
  const std::string path_;
  std::ifstream file_;
};

}  // namespace

std::string RowRange::Name() const { return StrCat(block, "-", shard); }

Result<RowBlocks> RowBlocks::Read(const Json& packed, std::string_view split,
                                  const std::vector<FileFacts>& objects, const std::string& directory) {
  RowBlocks blocks;
  for (const Json& entry : packed["splits"][split]["shards"].AsArray()) {
    const std::string_view name = entry["object"].AsString(), index_name = entry["index"].AsString();
    const auto object = std::find_if(objects.begin(), objects.end(),
                                     [&](const FileFacts& facts) { return facts.name == name; });
    const std::int64_t rows = entry["rows"].AsInt(-1);
    if (object == objects.end() || !StaysBelow(index_name) || rows < 0)
      return Status(Code::kDataLoss, StrCat(directory, "/packed.json: its shard ", name,
                                            " is not in the manifest, or has no index or number of rows"));
    const auto number = static_cast<std::uint32_t>(blocks.shards_.size());
    const std::uint64_t first = blocks.rows_, end = first + static_cast<std::uint64_t>(rows);
    blocks.shards_.push_back(*object);
    ShardIndex index(StrCat(directory, "/", index_name));
    for (std::uint64_t row = first; row < end;) {
      const std::uint64_t next = std::min((row / kBlockRows + 1) * kBlockRows, end);
      RowRange range{.block = row / kBlockRows, .shard = number, .from = 0, .to = object->bytes};
      ASSIGN_OR_RETURN(range.from, index.OffsetOf(row - first));
      if (next < end) {
        ASSIGN_OR_RETURN(range.to, index.OffsetOf(next - first));
      }
      if ((row == first && range.from != 0) || range.from >= range.to || range.to > object->bytes)
        return Status(Code::kDataLoss, StrCat(directory, "/", index_name, ": its offsets do not rise to the ",
                                              object->bytes, " bytes of ", name));
      if (blocks.first_range_.size() == range.block) blocks.first_range_.push_back(blocks.ranges_.size());
      blocks.ranges_.push_back(range);
      row = next;
    }
    blocks.rows_ = end;
  }
  if (blocks.rows_ == 0)
    return Status(Code::kDataLoss, StrCat(directory, "/packed.json: the split ", split, " has no rows"));
  blocks.first_range_.push_back(blocks.ranges_.size());
  return blocks;
}

std::span<const RowRange> RowBlocks::RangesOf(std::uint64_t block) const {
  return std::span(ranges_).subspan(first_range_[block], first_range_[block + 1] - first_range_[block]);
}

std::uint64_t RowBlocks::BytesOf(std::uint64_t block) const {
  std::uint64_t bytes = 0;
  for (const RowRange& range : RangesOf(block)) bytes += range.bytes();
  return bytes;
}

std::uint64_t RowBlocks::LeastBytes() const {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t block = 0; block < count(); ++block) sizes.push_back(BytesOf(block));
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  std::uint64_t least = 0;
  for (std::size_t at = 0; at < std::min<std::size_t>(sizes.size(), kNeeded); ++at) least += sizes[at];
  return least;
}

}  // namespace pipeline
