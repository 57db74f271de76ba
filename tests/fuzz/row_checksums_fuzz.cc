// Any bytes as the checksums of rows, and as packed.json beside an index: what is read gives the checksum of
// the manifest, and ranges that cover their shard; everything else is refused.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/crc32c.h"
#include "base/json.h"
#include "plugins/train/rows/row_blocks.h"
#include "plugins/train/rows/row_checksums.h"
#include "tests/fuzz/require.h"

namespace {

using namespace pipeline;

constexpr std::uint64_t kRows = 1500, kRowBytes = 2;

/// One shard of the split `train`, with its index on the disk.
struct Rows {
  Rows() {
    std::string shard;
    for (std::uint64_t at = 0; at < kRows * kRowBytes; ++at) shard.push_back(static_cast<char>(at));
    files.push_back({"train-0.bin", shard.size(), Crc32c(shard)});
    std::string pattern = (std::filesystem::temp_directory_path() / "rows-XXXXXX").string();
    Require(mkdtemp(pattern.data()) != nullptr);
    directory = pattern;
    std::ofstream index(directory + "/train-0.rows", std::ios::binary);
    for (std::uint64_t row = 0; row < kRows; ++row) {
      std::string entry(20, '\0');
      entry[0] = static_cast<char>(row * kRowBytes);
      entry[1] = static_cast<char>(row * kRowBytes >> 8);
      index << entry;
    }
  }
  ~Rows() {
    std::error_code error;
    std::filesystem::remove_all(directory, error);
  }
  Result<RowBlocks> Blocks(const Json& packed) const {
    return RowBlocks::Read(packed, "train", files, directory);
  }

  std::vector<FileFacts> files;
  std::string directory;
};

void CheckBlocks(const RowBlocks& blocks) {
  std::uint64_t bytes = 0;
  for (std::uint64_t block = 0; block < blocks.count(); ++block) bytes += blocks.BytesOf(block);
  std::uint64_t shards = 0;
  for (const FileFacts& shard : blocks.shards()) shards += shard.bytes;
  Require(bytes == shards && blocks.rows() > 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Rows rows;
  static const Result<RowBlocks> blocks = rows.Blocks(*Json::Parse(R"({"splits": {"train": {"shards": [
                       {"object": "train-0.bin", "index": "train-0.rows", "rows": 1500}]}}})"));
  Require(blocks.ok() && blocks->ranges().size() == 2);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<RowChecksums> read = ParseRowChecksums(text, *blocks, "d1", "here");
  if (read.ok()) {
    Require(read->size() == 2 &&
            CombineCrc32c((*read)[0], (*read)[1], blocks->ranges()[1].bytes()) == rows.files[0].crc32c);
    const auto again =
        ParseRowChecksums(EncodeRowChecksums(*read, *blocks, "d1", "train"), *blocks, "d1", "here");
    Require(again.ok() && *again == *read);
  } else {
    Require(read.status().code() == Code::kDataLoss && read.status().message().starts_with("here: "));
  }
  const Result<Json> packed = Json::Parse(text);
  if (!packed.ok()) return 0;
  const Result<RowBlocks> other = rows.Blocks(*packed);
  if (other.ok())
    CheckBlocks(*other);
  else
    Require(other.status().code() == Code::kDataLoss);
  return 0;
}
