#include "dag/copy_artifact.h"

#include "base/commit_point.h"
#include "dag/copy_object.h"
#include "dag/manifest.h"
#include "dag/publisher.h"

namespace pipeline {

Status CopyArtifact(const SegmentScope& scope, Store& from, Store& out, std::stop_token stop) {
  ASSIGN_OR_RETURN(const Manifest manifest, ReadManifest(from, scope.planned->copy_from, stop));
  RETURN_IF_ERROR(out.Sweep(""));
  RETURN_IF_ERROR(LayClaim(scope, out));
  for (const ManifestShard& shard : manifest.shards)
    RETURN_IF_ERROR(CopyObject(from, out, shard.object, stop));
  for (const StoredObject& sidecar : manifest.sidecars) RETURN_IF_ERROR(CopyObject(from, out, sidecar, stop));
  PassCommitPoint("sidecars.committed");
  RETURN_IF_ERROR(
      WriteObject(out, kManifestName, EncodeManifest(manifest), Condition::ReplaceAny()).status());
  PassCommitPoint("manifest.committed");
  for (const StoredObject& follower : manifest.followers)
    RETURN_IF_ERROR(CopyObject(from, out, follower, stop));
  PassCommitPoint("artifact.published");
  return {};
}

}  // namespace pipeline
