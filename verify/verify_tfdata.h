// Directories of ids held against what describes them. What lies on disk: formats/tfdata.md.
#pragma once

#include <stop_token>
#include <string_view>

#include "dag/manifest.h"
#include "stages/tfdata_info.h"
#include "verify/findings.h"
#include "verify/verify_object.h"

namespace pipeline {

/// The manifest against itself: names and numbers of its snapshots, what must lie beside each, and what
/// readers need beside them all.
void VerifyTfdataManifest(const Manifest& manifest, Findings& findings);

/// tfdata.json, as it was read, against the manifest: directories, documents, the tokenizer's digest, and
/// that every split but train has a window.
void VerifyTfdataInfo(const TfdataInfo& info, const Manifest& manifest, Findings& findings);

/// dataset_spec.pb or snapshot.metadata, the object `name`; any other object is passed over.
void VerifyTfdataFile(std::string_view name, std::string_view bytes, const TfdataInfo& info,
                      Findings& findings);
bool IsTfdataFile(std::string_view name);

/// A snapshot: its bytes, both checksums of each element, that each is an id of the tokenizer, and how many
/// there are. Fails as the functions of verify_object.h.
Status VerifyTfdataShard(const ByteFile& file, const ManifestShard& shard, const TfdataInfo& info,
                         const std::stop_token& stop, Findings& findings, ReadCounts& counts);

}  // namespace pipeline
