#include "dag/location/commit_manifest.h"

#include <optional>
#include <string>

#include "base/str.h"
#include "dag/location/holds_bytes.h"
#include "dag/location/lease.h"

namespace pipeline {

namespace {

constexpr int kTurns = 3;

/// Returns the existing manifest of another run: the plan has not seen it, and its recipe is not that of this
/// run. Absent: there is none.
Result<std::optional<Manifest>> OthersManifest(const Publishing& by, Store& out,
                                               const std::optional<ObjectInfo>& there, std::stop_token stop) {
  if (!there || there->version == by.manifest_version) return std::nullopt;
  Result<Manifest> manifest = ReadManifest(out, by.location, std::move(stop));
  if (manifest.status().code() == Code::kCancelled) return manifest.status();
  // A manifest that cannot be read names no object that could be lost.
  if (!manifest.ok() || manifest->recipe() == by.recipe) return std::nullopt;
  return std::move(*manifest);
}

Status Published(const Publishing& by) {
  return Status(Code::kFailedPrecondition,
                StrCat(by.location, ": another run has published there since this run was planned; ",
                       "name another `out`, or replace that artifact with --force ", by.stage));
}

Result<bool> IsWhole(Store& out, const Manifest& manifest, const std::stop_token& stop) {
  std::vector<StoredObject> objects = manifest.sidecars;
  for (const ManifestShard& shard : manifest.shards) objects.push_back(shard.object);
  for (const StoredObject& object : objects) {
    ASSIGN_OR_RETURN(const bool holds, HoldsBytes(out, object, stop));
    if (!holds) return false;
  }
  return true;
}

}  // namespace

Status CheckNotPublished(const Publishing& by, Store& out, std::stop_token stop) {
  ASSIGN_OR_RETURN(const std::optional<ObjectInfo> there, out.Stat(kManifestName));
  ASSIGN_OR_RETURN(const std::optional<Manifest> other, OthersManifest(by, out, there, std::move(stop)));
  return other ? Published(by) : Status();
}

Status CommitManifest(const Publishing& by, Store& out, const Manifest& manifest, std::stop_token stop) {
  const std::string text = EncodeManifest(manifest);
  for (int turn = 1;; ++turn) {
    ASSIGN_OR_RETURN(const std::optional<ObjectInfo> there, out.Stat(kManifestName));
    ASSIGN_OR_RETURN(const std::optional<Manifest> other, OthersManifest(by, out, there, stop));
    if (other) {
      ASSIGN_OR_RETURN(const bool whole, IsWhole(out, *other, stop));
      if (whole) return Published(by);
    }
    const Condition condition =
        there ? Condition::ReplaceUnlessSame(there->version) : Condition::CreateOnly();
    Status written = WriteObject(out, kManifestName, text, condition, stop).status();
    const bool met = written.code() == Code::kAlreadyExists || written.code() == Code::kFailedPrecondition;
    if (!met || turn == kTurns || written.Detail<LostLease>() != nullptr) return written;
  }
}

}  // namespace pipeline
