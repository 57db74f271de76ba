#include "plugins/train/rows/row_checksums.h"

#include <algorithm>

#include "base/crc32c.h"
#include "base/in_parallel.h"
#include "base/json.h"
#include "base/str.h"
#include "base/words.h"

namespace pipeline {

namespace {

constexpr std::size_t kShardsAtOnce = 8;
constexpr int kShardTries = 3;  // of a shard whose transfer broke off
constexpr std::size_t kDigits = 8;

/// The numbers of the first range of each shard, and the end.
std::vector<std::size_t> FirstRanges(const RowBlocks& blocks) {
  std::vector<std::size_t> first;
  const std::vector<RowRange>& ranges = blocks.ranges();
  for (std::size_t at = 0; at < ranges.size(); ++at)
    while (first.size() <= ranges[at].shard) first.push_back(at);
  first.resize(blocks.shards().size() + 1, ranges.size());
  return first;
}

/// Computes the checksums of the ranges of one shard while its bytes pass by.
class ShardMeasure {
 public:
  ShardMeasure(const RowBlocks& blocks, std::size_t first, std::size_t end, RowChecksums& checksums)
      : blocks_(blocks), end_(end), checksums_(checksums), range_(first) {}

  /// Ignores bytes behind the last range; the length tells of them.
  void Take(std::string_view bytes) {
    size_ += bytes.size();
    while (!bytes.empty() && range_ < end_) {
      const std::uint64_t left = blocks_.ranges()[range_].bytes() - in_range_;
      const std::string_view part = bytes.substr(0, std::min<std::uint64_t>(left, bytes.size()));
      crc_ = Crc32c(part, crc_);
      in_range_ += part.size();
      bytes.remove_prefix(part.size());
      if (part.size() < left) continue;
      checksums_[range_++] = crc_;
      crc_ = 0;
      in_range_ = 0;
    }
  }
  std::uint64_t size() const { return size_; }

 private:
  const RowBlocks& blocks_;
  const std::size_t end_;
  RowChecksums& checksums_;
  std::size_t range_;
  std::uint64_t in_range_ = 0, size_ = 0;
  std::uint32_t crc_ = 0;
};

std::uint32_t CrcOfShard(const RowChecksums& checksums, const RowBlocks& blocks, std::size_t first,
                         std::size_t end) {
  std::uint32_t crc = 0;
  for (std::size_t at = first; at < end; ++at)
    crc = CombineCrc32c(crc, checksums[at], blocks.ranges()[at].bytes());
  return crc;
}

}  // namespace

std::string RowChecksumsName(std::string_view data) { return StrCat("rows/", data, ".json"); }

std::string EncodeRowChecksums(const RowChecksums& checksums, const RowBlocks& blocks, std::string_view data,
                               std::string_view split) {
  Json json;
  json["pipe_row_checksums"] = 1;
  json["data"] = data;
  json["split"] = split;
  json["shards"] = Json(Json::Array{});
  const std::vector<std::size_t> first = FirstRanges(blocks);
  for (std::size_t shard = 0; shard < blocks.shards().size(); ++shard) {
    std::string digits;
    for (std::size_t at = first[shard]; at < first[shard + 1]; ++at)
      digits += ShownCrc({.name = {}, .bytes = 0, .crc32c = checksums[at]});
    Json entry;
    entry["object"] = blocks.shards()[shard].name;
    entry["crc32c"] = std::move(digits);
    json["shards"].Append(std::move(entry));
  }
  return json.Dump() + "\n";
}

Result<RowChecksums> ParseRowChecksums(std::string_view text, const RowBlocks& blocks, std::string_view data,
                                       std::string_view where) {
  const Status wrong(Code::kDataLoss, StrCat(where, ": has no checksums of these rows, of version 1"));
  const Result<Json> parsed = Json::Parse(text);
  if (!parsed.ok() || (*parsed)["pipe_row_checksums"].AsInt() != 1 || (*parsed)["data"].AsString() != data)
    return wrong;
  const Json::Array& entries = (*parsed)["shards"].AsArray();
  if (entries.size() != blocks.shards().size()) return wrong;
  const std::vector<std::size_t> first = FirstRanges(blocks);
  RowChecksums checksums;
  for (std::size_t shard = 0; shard < entries.size(); ++shard) {
    const FileFacts& object = blocks.shards()[shard];
    const std::string_view digits = entries[shard]["crc32c"].AsString();
    if (entries[shard]["object"].AsString() != object.name ||
        digits.size() != (first[shard + 1] - first[shard]) * kDigits)
      return wrong;
    for (std::size_t at = 0; at < digits.size(); at += kDigits) {
      const auto crc = ParseNumber<std::uint32_t>(digits.substr(at, kDigits), 16);
      if (!crc) return wrong;
      checksums.push_back(*crc);
    }
    if (CrcOfShard(checksums, blocks, first[shard], first[shard + 1]) != object.crc32c)
      return Status(Code::kDataLoss, StrCat(where, ": its checksums of ", object.name,
                                            " do not give that of the manifest, ", ShownCrc(object)));
  }
  return checksums;
}

Result<RowChecksums> MeasureRows(const RowBlocks& blocks, const ReadShard& read) {
  const std::vector<std::size_t> first = FirstRanges(blocks);
  RowChecksums checksums(blocks.ranges().size());
  const Status measured = InParallel(blocks.shards().size(), kShardsAtOnce, [&](std::size_t shard) -> Status {
    const FileFacts& object = blocks.shards()[shard];
    for (int tries = 1;; ++tries) {
      ShardMeasure measure(blocks, first[shard], first[shard + 1], checksums);
      const Status done = read(object, [&measure](std::string_view bytes) {
        measure.Take(bytes);
        return Status();
      });
      if (done.code() == Code::kUnavailable && tries < kShardTries) continue;
      RETURN_IF_ERROR(done);
      if (measure.size() == object.bytes &&
          CrcOfShard(checksums, blocks, first[shard], first[shard + 1]) == object.crc32c)
        return {};
      return Status(Code::kDataLoss,
                    StrCat(object.name, ": has not the ", object.bytes, " bytes of CRC-32C ",
                           ShownCrc(object), " that its manifest names: it was damaged or replaced"));
    }
  });
  RETURN_IF_ERROR(measured);
  return checksums;
}

}  // namespace pipeline
