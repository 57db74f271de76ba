// The two keys of every unit. Recipe: how it is made, from the file alone. Content: the same with the
// digests of what it is really made from, so that an input made again with the same bytes changes nothing.
#pragma once

#include <cstdint>

#include "base/digest.h"
#include "dag/lineage.h"
#include "records/batch.h"
#include "records/publication.h"
#include "records/schema.h"

namespace pipeline {

/// Of partition `id` made by a chain whose last stage has the recipe `stage`.
Digest PartitionRecipe(const Digest& stage, PartitionId id);

/// Of the end line of an input: a fact about the input and how its Source cuts it, whatever follows.
Digest EndRecipe(const Digest& source_stage, std::uint32_t input);

/// Of records with the digest `records` in partition files, where splits and fields are numbers: with the
/// names that `schema` has for these, which what is made of the records may hold.
Digest RecordsContent(const Digest& records, const Schema& schema);

/// Of partition `id` made by `chain` (first reader to last stage) from a partition whose records have
/// the content `input`.
Digest PartitionContent(const Lineage& chain, const Digest& input, PartitionId id);

Digest ShardRecipe(const Digest& stage, const Shard& shard);

/// Of a shard that `sink` makes of the pieces that the shard names.
Digest ShardContent(const LineageStage& sink, const Shard& shard);

}  // namespace pipeline
