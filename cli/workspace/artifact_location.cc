#include "cli/workspace/artifact_location.h"

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/str.h"
#include "dag/location/publishing.h"
#include "dag/records/partition_output.h"
#include "storage/bundle_store.h"
#include "storage/remote/open_store.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kMaxMarkerBytes = 1 << 20;

/// Returns "stage 'text'", from the marker of a run. "a stage": the marker does not tell.
std::string StageOf(const Result<std::string>& marker) {
  const Result<Json> json = marker.ok() ? Json::Parse(*marker) : Result<Json>(marker.status());
  const std::string_view stage = json.ok() ? (*json)["stage"].AsString() : std::string_view();
  return stage.empty() ? std::string("a stage") : StrCat("stage '", stage, "'");
}

/// Returns why `path` may have nothing: it is below artifacts/ of a work directory. Empty: it is elsewhere.
std::string AfterRemoval(const std::filesystem::path& path) {
  for (std::filesystem::path above = path.lexically_normal(); above.has_relative_path();
       above = above.parent_path()) {
    std::error_code error;
    if (above.filename() == "artifacts" && std::filesystem::exists(above.parent_path() / "run.log", error))
      return "; a run removes intermediates that nothing unfinished needs, unless `keep: true` or "
             "--keep-intermediates keeps them";
  }
  return {};
}

}  // namespace

Result<ArtifactLocation> OpenArtifactLocation(const std::string& location) {
  ASSIGN_OR_RETURN(const Uri uri, Uri::Parse(location));
  if (uri.is_local()) {
    std::error_code error;
    const std::filesystem::file_status found = std::filesystem::status(uri.path, error);
    if (found.type() == std::filesystem::file_type::not_found)
      return Status(Code::kNotFound,
                    StrCat(location, ": there is no such file or directory", AfterRemoval(uri.path)));
    if (found.type() == std::filesystem::file_type::none)
      return Status(Code::kPermissionDenied, StrCat(location, ": ", error.message()));
    if (found.type() != std::filesystem::file_type::directory)
      return Status(Code::kInvalidArgument,
                    StrCat(location, ": not a directory; name the one that holds its ", kManifestName));
  }
  ArtifactLocation opened;
  opened.name = uri.ToString();
  ASSIGN_OR_RETURN(opened.store, OpenStore(location));
  // It may be a directory of partition outputs.
  if (uri.is_local()) opened.store = std::make_unique<BundleStore>(std::move(opened.store));
  return opened;
}

Result<Manifest> ReadManifestOf(const ArtifactLocation& location, std::stop_token stop) {
  Result<Manifest> manifest = ReadManifest(*location.store, location.name, std::move(stop));
  if (manifest.ok() || manifest.status().code() != Code::kNotFound) return manifest;
  const auto missing = [&location](std::string_view why) {
    return Status(Code::kNotFound, StrCat(location.name, ": ", why));
  };
  ASSIGN_OR_RETURN(const std::optional<ObjectInfo> marker, location.store->Stat(kMarkerName));
  if (marker)
    return Status(Code::kFailedPrecondition,
                  StrCat(location.name,
                         ": unfinished: ", StageOf(ReadObject(*location.store, kMarkerName, kMaxMarkerBytes)),
                         " began to write here and has no ", kManifestName, " yet; run its pipeline again"));
  ASSIGN_OR_RETURN(const std::optional<ObjectInfo> log, location.store->Stat("run.log"));
  if (log) return missing("a work directory: name its run.log, or a directory below artifacts or quarantine");
  ASSIGN_OR_RETURN(const std::vector<ObjectInfo> objects, location.store->List(""));
  for (const ObjectInfo& object : objects)
    if (ParseOutputName(object.name))
      return missing(
          StrCat("holds partitions and no ", kManifestName, ": a part of a run, and not an artifact yet"));
  if (const std::string removed = AfterRemoval(location.name); objects.empty() && !removed.empty())
    return missing(StrCat("it is empty", removed));
  return missing(StrCat("no artifact: there is no ", kManifestName, " in it"));
}

}  // namespace pipeline
