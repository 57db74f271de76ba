#include "remote/listing.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/str.h"
#include "remote/gcs_place.h"
#include "storage/local_error.h"
#include "storage/local_file.h"
#include "storage/local_names.h"
#include "storage/object_name.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

namespace fs = std::filesystem;

using Visit = std::function<Status(const Listed&)>;

/// Whether a store would call it an object, or a directory of some.
bool IsName(std::string_view name) {
  if (!name.empty() && name.back() == '/') name.remove_suffix(1);
  return CheckObjectName(name).ok() && !ParseTemporaryName(name.substr(name.rfind('/') + 1));
}

bool IsEarlier(const Listed& a, const Listed& b) { return a.place < b.place; }

// --------------------------------------------------------------------------------------- directories

/// What lies right in a directory, as a store sees it: links to directories are none.
Status ListLevel(const std::string& path, const std::string& above, std::vector<Listed>& entries) {
  std::error_code error;
  fs::directory_iterator entry(path, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!IsName(name)) continue;
    std::error_code gone;
    if (entry->symlink_status(gone).type() == fs::file_type::directory) {
      entries.push_back({StrCat(above, name, "/"), true, 0, {}});
    } else if (const Result<FileIdentity> file = IdentifyFile(StrCat(path, "/", name)); file.ok()) {
      entries.push_back({StrCat(above, name), false, file->size, {}});
    }
  }
  return error ? LocalError(path, "cannot list", error.value()) : Status();
}

Status ListDirectory(StoreOpener& stores, const Uri& place, ListDepth depth, const Visit& visit) {
  std::error_code error;
  const fs::file_status found = fs::status(place.path, error);
  if (found.type() == fs::file_type::not_found)
    return Status(Code::kNotFound, StrCat(place.path, ": there is no such file or directory"));
  if (found.type() == fs::file_type::none) return LocalError(place.path, "cannot look at it", error.value());
  if (found.type() != fs::file_type::directory) {
    ASSIGN_OR_RETURN(const FileIdentity file, IdentifyFile(place.path));
    return visit({place.path, false, file.size, {}});
  }
  const std::string above = place.path.back() == '/' ? place.path : StrCat(place.path, "/");
  std::vector<Listed> entries;
  if (depth == ListDepth::kLevel) {
    RETURN_IF_ERROR(ListLevel(place.path, above, entries));
  } else {
    ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, stores.Open(place.path));
    ASSIGN_OR_RETURN(const std::vector<ObjectInfo> objects, store->List(""));
    for (const ObjectInfo& object : objects)
      entries.push_back({StrCat(above, object.name), false, object.size, object.crc32c});
  }
  std::sort(entries.begin(), entries.end(), IsEarlier);
  for (const Listed& entry : entries) RETURN_IF_ERROR(visit(entry));
  return {};
}

// --------------------------------------------------------------------------------------- buckets

Status ListBucket(StoreOpener& stores, const Uri& place, bool is_directory, ListDepth depth,
                  const Visit& visit, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const std::shared_ptr<GcsClient> client, stores.Gcs());
  const std::string bucket = StrCat("gs://", place.authority, "/");
  bool any = place.path.empty();
  if (!place.path.empty() && !is_directory) {
    ASSIGN_OR_RETURN(const std::optional<GcsObject> object,
                     StatGcsObject({client, place.authority, place.path}, stop));
    if (object) RETURN_IF_ERROR(visit({StrCat(bucket, place.path), false, object->size, object->crc32c}));
    any = object.has_value();
  }
  const auto each = [&](const GcsPage& page) -> Status {
    std::vector<Listed> entries;
    for (const GcsObject& object : page.objects)
      if (IsName(object.name) && object.name.back() != '/')
        entries.push_back({StrCat(bucket, object.name), false, object.size, object.crc32c});
    for (const std::string& prefix : page.prefixes)
      if (IsName(prefix)) entries.push_back({StrCat(bucket, prefix), true, 0, {}});
    // Objects and prefixes come apart; pages are in order by themselves.
    std::sort(entries.begin(), entries.end(), IsEarlier);
    for (const Listed& entry : entries) RETURN_IF_ERROR(visit(entry));
    any = any || !page.objects.empty() || !page.prefixes.empty();
    return {};
  };
  RETURN_IF_ERROR(ListGcsPages(client, place.authority, place.path.empty() ? "" : StrCat(place.path, "/"),
                               depth == ListDepth::kLevel, each, stop));
  return any ? Status()
             : Status(Code::kNotFound,
                      StrCat(bucket, place.path, ": there is no such object, and none below it"));
}

}  // namespace

Status ListPlace(StoreOpener& stores, const std::string& place, ListDepth depth, const Visit& visit,
                 std::stop_token stop) {
  ASSIGN_OR_RETURN(const Uri uri, Uri::Parse(place));
  switch (uri.scheme) {
    case Uri::Scheme::kFile: return ListDirectory(stores, uri, depth, visit);
    case Uri::Scheme::kGs: return ListBucket(stores, uri, place.back() == '/', depth, visit, stop);
    case Uri::Scheme::kHttp:
    case Uri::Scheme::kHttps: break;
  }
  const std::string shown = ShownUrl(place);
  if (uri.LastPart().empty()) {
    ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, stores.Open(place));
    return store->List("").status();  // which says why not
  }
  ASSIGN_OR_RETURN(const RemoteFile file, OpenRemoteFile(place, Patience::kPlan, std::move(stop)));
  return visit({shown, false, file.bytes->size(), file.crc32c});
}

}  // namespace pipeline
