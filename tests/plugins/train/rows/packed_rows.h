// Packed rows of plain ids in memory: stages/export/packed/packed.md, as far as the stage `train` reads it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "plugins/train/file_facts.h"
#include "plugins/train/reader/sample_order.h"
#include "plugins/train/rows/row_blocks.h"

namespace pipeline {

class PackedRows {
 public:
  static constexpr std::uint64_t kRowBytes = 8;
  static constexpr std::uint64_t kBlockBytes = kPipeBlockRows * kRowBytes;

  /// Shards of the split `train` with so many rows each, and one of `validation`. Row r has the number r.
  explicit PackedRows(const std::vector<std::uint64_t>& shards);

  /// All objects by name, with MANIFEST.json.
  const std::map<std::string, std::string>& objects() const { return objects_; }
  /// Those of the manifest.
  const std::vector<FileFacts>& files() const { return files_; }
  std::uint64_t bytes() const;
  /// Bytes of everything but the shards of `train`.
  std::uint64_t whole_bytes() const;
  const Json& packed() const { return packed_; }
  /// Writes the objects but the shards of `train` to a directory, and reads the blocks from there.
  RowBlocks Blocks(const std::string& directory) const;
  /// The object with their checksums.
  std::string Checksums(std::string_view data) const;
  /// The bytes of row `row` of `train`.
  static std::string Row(std::uint64_t row);

 private:
  Json AddShard(const std::string& split, std::uint64_t number, std::uint64_t first, std::uint64_t rows);
  void Add(const char* list, const std::string& name, std::string bytes, const std::string& split = {});

  std::map<std::string, std::string> objects_;
  std::vector<FileFacts> files_;
  Json manifest_, packed_;
};

}  // namespace pipeline
