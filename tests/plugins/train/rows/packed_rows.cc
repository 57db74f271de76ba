#include "tests/plugins/train/rows/packed_rows.h"

#include <gtest/gtest.h>

#include "base/crc32c.h"
#include "base/str.h"
#include "plugins/train/rows/row_checksums.h"
#include "tests/support/temp_dir.h"

namespace pipeline {

namespace {

void PutNumber(std::string& bytes, std::uint64_t number, int size) {
  for (int at = 0; at < size; ++at) bytes.push_back(static_cast<char>(number >> (8 * at)));
}

}  // namespace

PackedRows::PackedRows(const std::vector<std::uint64_t>& shards) {
  packed_["pipe_packed"] = 2;
  packed_["encoding"] = "raw16";
  std::uint64_t first = 0;
  for (std::size_t number = 0; number < shards.size(); first += shards[number++])
    packed_["splits"]["train"]["shards"].Append(AddShard("train", number, first, shards[number]));
  packed_["splits"]["validation"]["shards"].Append(AddShard("validation", 0, 0, 10));
  Add("sidecars", "packed.json", packed_.Dump());
  objects_["MANIFEST.json"] = manifest_.Dump();
}

std::string PackedRows::Row(std::uint64_t row) {
  std::string bytes;
  PutNumber(bytes, row, kRowBytes);
  return bytes;
}

Json PackedRows::AddShard(const std::string& split, std::uint64_t number, std::uint64_t first,
                          std::uint64_t rows) {
  const std::string name = StrCat(split, "-", number);
  std::string shard, index;
  for (std::uint64_t row = 0; row < rows; ++row) {
    PutNumber(index, shard.size(), 8);
    for (int field = 0; field < 3; ++field) PutNumber(index, 4, 4);
    shard += Row(first + row);
  }
  Json entry;
  entry["object"] = name + ".bin";
  entry["index"] = name + ".rows";
  entry["rows"] = rows;
  Add("shards", name + ".bin", std::move(shard), split);
  Add("sidecars", name + ".rows", std::move(index));
  return entry;
}

void PackedRows::Add(const char* list, const std::string& name, std::string bytes, const std::string& split) {
  const FileFacts facts{name, bytes.size(), Crc32c(bytes)};
  files_.push_back(facts);
  Json entry;
  entry["object"] = name;
  entry["bytes"] = facts.bytes;
  entry["crc32c"] = ShownCrc(facts);
  if (!split.empty()) entry["split"] = split;
  manifest_[list].Append(entry);
  objects_[name] = std::move(bytes);
}

std::uint64_t PackedRows::bytes() const {
  std::uint64_t bytes = 0;
  for (const FileFacts& file : files_) bytes += file.bytes;
  return bytes;
}

std::uint64_t PackedRows::whole_bytes() const {
  std::uint64_t bytes = 0;
  for (const FileFacts& file : files_)
    if (!file.name.starts_with("train-") || file.name.ends_with(".rows")) bytes += file.bytes;
  return bytes;
}

RowBlocks PackedRows::Blocks(const std::string& directory) const {
  for (const auto& [name, bytes] : objects_)
    if (name.ends_with(".rows")) WriteFile(directory + "/" + name, bytes);
  Result<RowBlocks> blocks = RowBlocks::Read(packed_, "train", files_, directory);
  EXPECT_TRUE(blocks.ok()) << blocks.status().message();
  return std::move(*blocks);
}

std::string PackedRows::Checksums(std::string_view data) const {
  const TempDir directory;
  const RowBlocks blocks = Blocks(directory.path().string());
  const Result<RowChecksums> made = MeasureRows(
      blocks, [this](const FileFacts& shard, const auto& take) { return take(objects_.at(shard.name)); });
  EXPECT_TRUE(made.ok()) << made.status().message();
  return EncodeRowChecksums(*made, blocks, data, "train");
}

}  // namespace pipeline
