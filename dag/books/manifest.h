// The table of contents of an artifact, and the proof that it is complete. Format: dag/books/manifest.md.
#pragma once

#include <cstdint>
#include <map>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/json.h"
#include "base/result.h"
#include "dag/books/lineage.h"
#include "dag/records/counts.h"
#include "dag/records/partition_output.h"
#include "dag/records/schema.h"
#include "dag/records/stored_object.h"
#include "storage/store.h"

namespace pipeline {

/// The name of every manifest, in the artifact's own directory.
inline constexpr std::string_view kManifestName = "MANIFEST.json";

/// The version of its form that is written; no other one is read.
inline constexpr std::uint32_t kManifestVersion = 1;

/// One shard of a published artifact.
struct ManifestShard {
  std::string split;
  std::uint32_t number = 0;
  std::uint32_t count = 0;  // of shards of the split
  std::uint64_t records = 0;
  StoredObject object;
  bool operator==(const ManifestShard&) const = default;
};

/// A published artifact has `shards`, a kept intermediate `partitions`, a Job's output `sidecars` alone.
struct Manifest {
  Lineage lineage;  // not empty; its last stage made the artifact
  Schema schema;
  std::map<std::string, ArtifactTotals::Split, std::less<>> splits;  // totals
  std::map<std::string, StageCounts, std::less<>> counts;            // totals, by stage
  std::vector<StoredObject> sidecars;                                // objects that hold no records
  std::vector<StoredObject> followers;  // the same, committed after the manifest: other readers take them for
                                        // the sign of completeness
  std::vector<ManifestShard> shards;    // by split and number
  std::vector<PartitionOutput> partitions;  // by id
  Json facts;                               // Job only: an object for readers of the artifact; null: none
  Json continues;      // Job only: how far it went, its keys with Effect::kContinue; null: none
  bool sealed = true;  // its text has a valid seal; texts of earlier versions have none

  const std::string& stage() const { return lineage.back().stage; }
  const Digest& recipe() const { return lineage.back().recipe; }
  /// Returns a digest of the content, however it was made: the same for the same objects in the same order.
  Digest ContentRoot() const;
};

/// Returns a digest of the content of `outputs` in their order: the ContentRoot() of a manifest with nothing
/// else.
Digest ContentOf(const std::vector<PartitionOutput>& outputs);

/// Equal manifests give equal text; nothing in it depends on time, host or run. The text is sealed unless
/// the manifest was read from a text without a seal.
std::string EncodeManifest(const Manifest& manifest);

/// `file` is for messages. kFailedPrecondition: a newer program wrote it. kDataLoss: a member is missing or
/// wrong, and the message names it; or the entries do not match the content root or the seal. The message
/// says how to repair it.
Result<Manifest> ParseManifest(std::string_view text, std::string_view file);

/// Reads the manifest of the artifact in `store`. kNotFound: there is no manifest, and so no artifact.
/// `location` is the artifact's path or URI, for messages.
Result<Manifest> ReadManifest(Store& store, std::string_view location, std::stop_token stop = {});

}  // namespace pipeline
