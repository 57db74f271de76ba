// Reads the records of a shard in any encoding: TFRecord, ArrayRecord, or rows of plain ids.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/byte_reader.h"
#include "base/result.h"
#include "cli/commands/cat_target.h"
#include "formats/tf_example.h"
#include "stages/export/packed/packed.h"

namespace pipeline {

/// Returns the next record as an Example; absent: the end.
using NextExample = std::function<Result<std::optional<TfExample>>()>;

/// Opens the shard `object`, whose bytes are `file`. Keeps no reference to `object`; `file` must outlive
/// the result.
Result<NextExample> OpenExamples(const ByteFile& file, const CatObject& object);

/// The index entries beside a shard of packed rows; empty: there is no index.
Result<std::vector<PackedIndexEntry>> ReadShardIndex(const CatObject& object);

}  // namespace pipeline
