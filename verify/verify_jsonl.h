// JSON Lines held against what their manifest says. What lies on disk: formats/jsonl.md.
#pragma once

#include <stop_token>

#include "dag/manifest.h"
#include "storage/store.h"
#include "verify/findings.h"
#include "verify/verify_object.h"

namespace pipeline {

/// The manifest against itself: names and numbers of its files.
void VerifyJsonlManifest(const Manifest& manifest, Findings& findings);

/// A file: its bytes, that each line is an object of the members that its stage writes, all clean text, and
/// how many there are; of pairs for span corruption, that the sentinels of source and target belong together.
Status VerifyJsonlFile(const ByteFile& file, const ManifestShard& shard, const Manifest& manifest,
                       const std::stop_token& stop, Findings& findings, ReadCounts& counts);

}  // namespace pipeline
