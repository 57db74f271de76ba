// The two keys of every unit. Recipe: how the unit is made, according to the file. Content: the same with
// the digests of its real inputs, so that an input that was made again with the same bytes changes nothing.
#pragma once

#include <cstdint>

#include "base/digest.h"
#include "dag/books/lineage.h"
#include "dag/records/batch.h"
#include "dag/records/publication.h"
#include "dag/records/schema.h"

namespace pipeline {

/// For partition `id` of a chain whose last stage has the recipe `stage`.
Digest PartitionRecipe(const Digest& stage, PartitionId id);

/// For the end line of an input. It depends on the input and how its Source cuts it, not on later stages.
Digest EndRecipe(const Digest& source_stage, std::uint32_t input);

/// For records with the digest `records` in partition files, where splits and fields are numbers. Includes
/// their names in `schema`, because the output of a reader may contain them.
Digest RecordsContent(const Digest& records, const Schema& schema);

/// For partition `id` that `chain` (first reader to last stage) makes from a partition whose records have
/// the content `input`.
Digest PartitionContent(const Lineage& chain, const Digest& input, PartitionId id);

Digest ShardRecipe(const Digest& stage, const Shard& shard);

/// For a shard that `sink` makes from the partition outputs that the shard names.
Digest ShardContent(const LineageStage& sink, const Shard& shard);

}  // namespace pipeline
