// The CRC-32C of each range of the rows, RUN/rows/DIGEST.json: rows.md, section 3.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plugins/train/rows/row_blocks.h"

namespace pipeline {

/// By number of the range in RowBlocks::ranges().
using RowChecksums = std::vector<std::uint32_t>;

/// The name below RUN. `data`: the digest of the manifest.
std::string RowChecksumsName(std::string_view data);
std::string EncodeRowChecksums(const RowChecksums& checksums, const RowBlocks& blocks, std::string_view data,
                               std::string_view split);
/// kDataLoss names `where` if the text is no such object of these rows, or if the checksums of a shard do not
/// give that of the manifest.
Result<RowChecksums> ParseRowChecksums(std::string_view text, const RowBlocks& blocks, std::string_view data,
                                       std::string_view where);

/// Reads a whole shard, and passes its bytes on in order.
using ReadShard =
    std::function<Status(const FileFacts& shard, const std::function<Status(std::string_view bytes)>& take)>;
/// Reads all shards, several at a time, on several threads. kDataLoss names a shard that differs from the
/// manifest.
Result<RowChecksums> MeasureRows(const RowBlocks& blocks, const ReadShard& read);

}  // namespace pipeline
