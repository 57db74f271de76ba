#include "dag/plan/stored_outputs.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/str.h"
#include "dag/location/publishing.h"
#include "storage/local_file.h"
#include "storage/store.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

/// Returns the recipe of the marker. Empty: there is no marker, or it has no recipe that can be read.
std::string MarkedRecipe(Store& store) {
  const Result<std::optional<PublicationMarker>> marker = ReadMarker(store);
  return marker.ok() && *marker ? (*marker)->recipe : std::string();
}

/// Returns the objects of others that must not be beside the artifact. Reads the list of names only if there
/// may be some.
Result<std::vector<std::string>> InTheWay(const LocationView& view) {
  NameSet known;
  if (view.manifest != nullptr)
    for (std::string& name : NamesIn(*view.manifest)) known.insert(std::move(name));
  const auto is_in_the_way = [&view](const std::string& name) { return IsInTheWay(view.tests, name); };
  std::vector<ObjectInfo> own = OwnObjects(view.there);
  std::vector<std::string> found;
  if (std::none_of(own.begin(), own.end(), [&](const ObjectInfo& object) {
        return !known.contains(object.name) && is_in_the_way(object.name);
      }))
    return found;
  ASSIGN_OR_RETURN(const std::unique_ptr<LocationNames> list, LocationNames::Read(view.out, view.there));
  ASSIGN_OR_RETURN(LocationContents contents, TellApart(view, *list));
  std::copy_if(contents.others.begin(), contents.others.end(), std::back_inserter(found), is_in_the_way);
  return found;
}

/// Returns the file that stands where `path` needs a directory. Empty: there is none.
std::string FileInPlaceOf(const std::string& path) {
  for (std::filesystem::path above = path; !above.empty(); above = above.parent_path()) {
    std::error_code error;
    const std::filesystem::file_status status = std::filesystem::status(above, error);
    if (std::filesystem::exists(status))
      return std::filesystem::is_directory(status) ? std::string() : above.string();
    if (above == above.parent_path()) break;
  }
  return {};
}

/// Fails if a file stands in place of the directory, or if a directory or a device has the name of the
/// manifest: it is no object, and no manifest can replace it.
Status InPlaceOfManifest(const std::string& uri) {
  const Result<Uri> location = Uri::Parse(uri);
  if (!location.ok() || !location->is_local()) return {};
  if (const std::string file = FileInPlaceOf(location->path); !file.empty())
    return Status(Code::kDataLoss,
                  StrCat(file,
                         ": is a file, and the stage needs a directory there; move it elsewhere, or name "
                         "another place by `out`"));
  const Uri manifest = location->Join(kManifestName);
  if (IdentifyFile(manifest.path).status().code() != Code::kInvalidArgument) return {};
  return Status(Code::kDataLoss,
                StrCat(manifest.ToString(),
                       ": is no file but a directory or a device; move it elsewhere and run again"));
}

/// Returns whether a manifest exists and cannot be used; other failures may be temporary.
bool SaysDamaged(const Status& status) {
  return status.code() == Code::kDataLoss || status.code() == Code::kFailedPrecondition ||
         status.code() == Code::kResourceExhausted;
}

}  // namespace

StoredOutputs StoredIn(const Environment& environment) {
  StoredOutputs stored;
  stored.at_location = [&environment](const std::string& location) {
    return PublishedAt(environment, location);
  };
  stored.outputs = [&environment](const OutputKeys& keys,
                                  const std::string& directory) -> Result<PartitionOutputs> {
    ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, OpenOutputs(environment, directory));
    return PartitionOutputs::Load(*environment.log, keys, *store);
  };
  return stored;
}

Result<Snapshot::Published> PublishedAt(const Environment& environment, const std::string& location,
                                        const std::string& stage, const NameTests& tests) {
  Snapshot::Published published;
  ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, OpenLocation(environment, location));
  ASSIGN_OR_RETURN(const std::vector<ObjectInfo> objects, store->List(""));
  std::map<std::string_view, const ObjectInfo*> there;
  for (const ObjectInfo& object : objects) there.emplace(object.name, &object);
  if (!there.contains(kManifestName)) {
    if (published.damaged = InPlaceOfManifest(UriOfLocation(environment, location));
        !published.damaged.ok()) {
      published.in_the_way = {std::string(kManifestName)};
      return published;
    }
    published.foreign = !there.contains(kMarkerName) && !OwnObjects(objects).empty();
    if (there.contains(kMarkerName)) published.marker_recipe = MarkedRecipe(*store);
    if (published.foreign) return published;
    ASSIGN_OR_RETURN(published.in_the_way,
                     InTheWay({*store, objects, nullptr, tests, environment.log, stage, location}));
    return published;
  }
  Result<Manifest> manifest = ReadManifest(*store, location);
  for (const ObjectInfo& object : objects)
    if (object.name == kManifestName) published.manifest_version = object.version;
  if (!manifest.ok()) {
    if (!SaysDamaged(manifest.status())) return std::move(manifest).status();
    published.damaged = std::move(manifest).status();
    ASSIGN_OR_RETURN(published.in_the_way,
                     InTheWay({*store, objects, nullptr, tests, environment.log, stage, location}));
    return published;
  }
  const auto check = [&](const StoredObject& object) {
    const auto found = there.find(object.name);
    if (found != there.end() && object.IsAt(*found->second)) return;
    if (published.whole) published.missing = object.name;
    published.whole = false;
  };
  for (const ManifestShard& shard : manifest->shards) check(shard.object);
  for (const StoredObject& sidecar : manifest->sidecars) check(sidecar);
  for (const StoredObject& follower : manifest->followers) check(follower);
  ASSIGN_OR_RETURN(published.in_the_way,
                   InTheWay({*store, objects, &*manifest, tests, environment.log, stage, location}));
  published.manifest = std::move(*manifest);
  return published;
}

}  // namespace pipeline
