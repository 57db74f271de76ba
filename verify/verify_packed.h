// Packed rows held against what describes them. What lies on disk: formats/packed.md.
#pragma once

#include <optional>
#include <stop_token>
#include <string_view>

#include "dag/manifest.h"
#include "stages/packed_info.h"
#include "storage/store.h"
#include "verify/findings.h"
#include "verify/verify_object.h"

namespace pipeline {

/// The manifest against itself: names and numbers of its shards, an index for each, the objects that readers
/// need.
void VerifyPackedManifest(const Manifest& manifest, Findings& findings);

/// packed.json, as it was read, against the manifest: shards, rows, and the tokenizer's digest.
void VerifyPackedInfo(const PackedInfo& info, const Manifest& manifest, Findings& findings);

/// A shard with its index: its bytes, both checksums of each frame, length, ids and filling of each row, the
/// index against the rows, and the sums of the index against `info`. Fails as the functions of
/// verify_object.h.
Status VerifyPackedShard(Store& store, const ByteFile& file, const ManifestShard& shard,
                         const PackedInfo& info, const std::stop_token& stop, Findings& findings,
                         ReadCounts& counts);

}  // namespace pipeline
