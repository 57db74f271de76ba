// Examples of BERT held against what describes them. What lies on disk: formats/bert.md.
#pragma once

#include <stop_token>

#include "dag/manifest.h"
#include "stages/bert_info.h"
#include "storage/store.h"
#include "verify/findings.h"
#include "verify/verify_object.h"

namespace pipeline {

/// The manifest against itself: names and numbers of its shards, and the objects that the trainer needs.
void VerifyBertManifest(const Manifest& manifest, Findings& findings);

/// bert.json, as it was read, against the manifest, and the vocabulary and bert_config.json against it. Fails
/// with kCancelled alone.
Status VerifyBertInfo(Store& store, const BertInfo& info, const Manifest& manifest,
                      const std::stop_token& stop, Findings& findings);

/// A shard: its bytes, both checksums of each frame, and of each example its seven features, how they are
/// filled, ids, [CLS] and [SEP]. Fails as the functions of verify_object.h.
Status VerifyBertShard(const ByteFile& file, const ManifestShard& shard, const BertInfo& info,
                       const std::stop_token& stop, Findings& findings, ReadCounts& counts);

}  // namespace pipeline
