#include "dag/copy_artifact.h"

#include <memory>
#include <optional>
#include <utility>

#include "base/commit_point.h"
#include "base/str.h"
#include "dag/manifest.h"
#include "dag/publisher.h"
#include "dag/segment_unit.h"

namespace pipeline {

Status CopyObject(Store& from, Store& to, const StoredObject& object, std::stop_token stop) {
  if (stop.stop_requested()) return Status(Code::kCancelled, "stopped");
  ASSIGN_OR_RETURN(const std::optional<ObjectInfo> there, to.Stat(object.name));
  if (there && there->size == object.bytes) return {};
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteFile> file, from.Open(object.name));
  if (file->size() != object.bytes)
    return Status(Code::kDataLoss,
                  StrCat(object.name, ": ", file->size(), " bytes where ", object.bytes, " were written"));
  ASSIGN_OR_RETURN(const std::unique_ptr<ObjectWriter> writer,
                   to.Create(object.name, Condition::ReplaceAny()));
  RETURN_IF_ERROR(writer->AppendFile(*file, std::move(stop)));
  return writer->Commit().status();
}

Status CopyArtifact(const SegmentScope& scope, Store& from, Store& out, std::stop_token stop) {
  ASSIGN_OR_RETURN(const Manifest manifest, ReadManifest(from, scope.planned->copy_from, stop));
  if (scope.options->share.of == Share::Of::kAll) RETURN_IF_ERROR(out.Sweep(""));
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
