// The records of a shard, however it holds them: TFRecord, ArrayRecord, or rows of nothing but ids.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/byte_reader.h"
#include "base/result.h"
#include "cli/cat_target.h"
#include "formats/packed.h"
#include "formats/tf_example.h"

namespace pipeline {

/// One record after the other as an Example, absent at the end.
using NextExample = std::function<Result<std::optional<TfExample>>()>;

/// Of the shard `object`, which is `file`. Keeps no hold of `object`; `file` has to outlive what it gives.
Result<NextExample> OpenExamples(const ByteFile& file, const CatObject& object);

/// What the index beside a shard of packed rows says of each; empty where there is none.
Result<std::vector<PackedIndexEntry>> ReadShardIndex(const CatObject& object);

}  // namespace pipeline
