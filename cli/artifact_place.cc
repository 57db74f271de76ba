#include "cli/artifact_place.h"

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/str.h"
#include "dag/place/marker.h"
#include "records/piece.h"
#include "remote/open_store.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kMaxMarkerBytes = 1 << 20;

/// "stage 'text'", by what a run laid down; "a stage" where that cannot be told.
std::string StageOf(const Result<std::string>& marker) {
  const Result<Json> json = marker.ok() ? Json::Parse(*marker) : Result<Json>(marker.status());
  const std::string_view stage = json.ok() ? (*json)["stage"].AsString() : std::string_view();
  return stage.empty() ? std::string("a stage") : StrCat("stage '", stage, "'");
}

}  // namespace

Result<ArtifactPlace> OpenArtifactPlace(const std::string& place) {
  ASSIGN_OR_RETURN(const Uri uri, Uri::Parse(place));
  if (uri.scheme == Uri::Scheme::kFile) {
    std::error_code error;
    const std::filesystem::file_status found = std::filesystem::status(uri.path, error);
    if (found.type() == std::filesystem::file_type::not_found)
      return Status(Code::kNotFound, StrCat(place, ": there is no such file or directory"));
    if (found.type() == std::filesystem::file_type::none)
      return Status(Code::kPermissionDenied, StrCat(place, ": ", error.message()));
    if (found.type() != std::filesystem::file_type::directory)
      return Status(Code::kInvalidArgument,
                    StrCat(place, ": not a directory; name the one that holds its ", kManifestName));
  }
  ArtifactPlace opened;
  opened.name = uri.ToString();
  ASSIGN_OR_RETURN(opened.store, OpenStore(place));
  return opened;
}

Result<Manifest> ReadManifestOf(const ArtifactPlace& place, std::stop_token stop) {
  Result<Manifest> manifest = ReadManifest(*place.store, place.name, std::move(stop));
  if (manifest.ok() || manifest.status().code() != Code::kNotFound) return manifest;
  const auto missing = [&place](std::string_view why) {
    return Status(Code::kNotFound, StrCat(place.name, ": ", why));
  };
  ASSIGN_OR_RETURN(const std::optional<ObjectInfo> marker, place.store->Stat(kMarkerName));
  if (marker)
    return missing(StrCat("unfinished: ", StageOf(ReadObject(*place.store, kMarkerName, kMaxMarkerBytes)),
                          " began to write here and has no ", kManifestName, " yet; run its pipeline again"));
  ASSIGN_OR_RETURN(const std::optional<ObjectInfo> log, place.store->Stat("run.log"));
  if (log) return missing("a work directory: name its run.log, or a directory below artifacts or quarantine");
  ASSIGN_OR_RETURN(const std::vector<ObjectInfo> objects, place.store->List(""));
  for (const ObjectInfo& object : objects)
    if (ParsePieceName(object.name))
      return missing(
          StrCat("holds partitions and no ", kManifestName, ": a part of a run, and not an artifact yet"));
  return missing(StrCat("no artifact: there is no ", kManifestName, " in it"));
}

}  // namespace pipeline
