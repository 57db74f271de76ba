#include "storage/remote/listing.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/str.h"
#include "storage/local_error.h"
#include "storage/local_file.h"
#include "storage/local_names.h"
#include "storage/store.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

namespace fs = std::filesystem;

using Visit = std::function<Status(const Listed&)>;

/// A writer's, which is no object yet.
bool IsUnfinished(std::string_view name) { return IsUnfinishedName(name.substr(name.rfind('/') + 1)); }

// --------------------------------------------------------------------------------------- directories

/// What keeps a file of this type from being an object; of a link, the type behind it.
std::string_view WhyNoObject(fs::file_type type, bool is_link) {
  switch (type) {
    case fs::file_type::directory: return "a link to a directory, which is not entered";
    case fs::file_type::fifo: return "a pipe";
    case fs::file_type::socket: return "a socket";
    case fs::file_type::block:
    case fs::file_type::character: return "a device";
    default: return is_link ? "a link that leads nowhere" : "no file";
  }
}

/// Adds what lies in the directory `path`, whose name below the start is `below` (empty, or with a slash at
/// its end). Under kAll the directories in it are added as such, for the caller to enter.
Status ListLevel(const std::string& path, const std::string& above, const std::string& below,
                 std::vector<Listed>& entries) {
  std::error_code error;
  fs::directory_iterator entry(path, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (IsUnfinished(name)) continue;
    std::error_code gone;
    const fs::file_type type = entry->symlink_status(gone).type();
    if (type == fs::file_type::not_found || type == fs::file_type::none) continue;  // removed meanwhile
    const bool is_directory = type == fs::file_type::directory;
    Listed found{StrCat(above, below, name, is_directory ? "/" : ""), is_directory, 0, {}, {}};
    if (!is_directory) {
      const Result<FileIdentity> file = IdentifyFile(StrCat(path, "/", name));
      if (const Status named = CheckObjectName(StrCat(below, name)); !named.ok()) {
        found.no_object = named.message();
      } else if (file.ok()) {
        found.size = file->size;
      } else {
        const bool is_link = type == fs::file_type::symlink;
        if (!is_link && file.status().code() == Code::kNotFound) continue;
        found.no_object = WhyNoObject(is_link ? entry->status(gone).type() : type, is_link);
      }
    }
    entries.push_back(std::move(found));
  }
  return error ? LocalError(path, "cannot list", error.value()) : Status();
}

/// Every object below `path`. A directory in it that cannot be read is told as no object.
Status ListAll(const std::string& path, const std::string& above, std::vector<Listed>& entries) {
  std::vector<std::string> pending = {""};  // names below `path`
  while (!pending.empty()) {
    const std::string below = std::move(pending.back());
    pending.pop_back();
    std::vector<Listed> level;
    const Status listed = ListLevel(StrCat(path, "/", below), above, below, level);
    if (!listed.ok() && below.empty()) return listed;
    if (!listed.ok() && listed.code() != Code::kNotFound)
      entries.push_back({StrCat(above, below), false, 0, {}, std::string(listed.message())});
    for (Listed& one : level) {
      if (one.is_directory) {
        pending.push_back(one.location.substr(above.size()));
      } else {
        entries.push_back(std::move(one));
      }
    }
  }
  return {};
}

Status ListDirectory(const Uri& location, ListDepth depth, const Visit& visit) {
  std::error_code error;
  const fs::file_status found = fs::status(location.path, error);
  if (found.type() == fs::file_type::not_found)
    return Status(Code::kNotFound, StrCat(location.path, ": there is no such file or directory"));
  if (found.type() == fs::file_type::none)
    return LocalError(location.path, "cannot look at it", error.value());
  if (found.type() != fs::file_type::directory) {
    ASSIGN_OR_RETURN(const FileIdentity file, IdentifyFile(location.path));
    return visit({location.path, false, file.size, {}, {}});
  }
  const std::string above = location.path.back() == '/' ? location.path : StrCat(location.path, "/");
  std::vector<Listed> entries;
  RETURN_IF_ERROR(depth == ListDepth::kLevel ? ListLevel(location.path, above, "", entries)
                                             : ListAll(location.path, above, entries));
  std::ranges::sort(entries, {}, &Listed::location);
  for (const Listed& entry : entries) RETURN_IF_ERROR(visit(entry));
  return {};
}

// --------------------------------------------------------------------------------------- buckets

/// Why no store here has an object of this name; empty: it may.
std::string WhyNoObject(const RemoteOpener& opener, std::string_view name) {
  const Status named = opener.CheckName(name);
  return named.ok() ? std::string() : std::string(named.message());
}

Status ListBucket(RemoteOpener& opener, const Uri& location, bool is_directory, ListDepth depth,
                  const Visit& visit, const std::stop_token& stop) {
  RETURN_IF_ERROR(opener.Prepare());
  const std::string bucket = StrCat(location.scheme->name, "://", location.authority, "/");
  bool any = location.path.empty();
  if (!location.path.empty() && !is_directory) {
    ASSIGN_OR_RETURN(const std::optional<RemoteObject> object, opener.FindObject(location, stop));
    if (object)
      RETURN_IF_ERROR(
          visit({StrCat(bucket, location.path), false, object->size, object->crc32c, {}, object->open}));
    any = object.has_value();
  }
  const auto each = [&](RemotePage page) -> Status {
    std::vector<Listed> entries;
    for (RemoteObject& object : page.objects)
      if (!object.MarksDirectory() && !IsUnfinished(object.name))
        entries.push_back({StrCat(bucket, object.name), false, object.size, object.crc32c,
                           WhyNoObject(opener, object.name), std::move(object.open)});
    for (const std::string& prefix : page.prefixes) {
      const std::string why = WhyNoObject(opener, prefix.substr(0, prefix.size() - 1));
      entries.push_back({StrCat(bucket, prefix), why.empty(), 0, {}, why});
    }
    // Objects and prefixes come apart; pages are in order by themselves.
    std::ranges::sort(entries, {}, &Listed::location);
    for (const Listed& entry : entries) RETURN_IF_ERROR(visit(entry));
    any = any || !page.objects.empty() || !page.prefixes.empty();
    return {};
  };
  RETURN_IF_ERROR(opener.ListPages(location.authority,
                                   location.path.empty() ? "" : StrCat(location.path, "/"),
                                   depth == ListDepth::kLevel, each, stop));
  return any ? Status()
             : Status(Code::kNotFound,
                      StrCat(bucket, location.path, ": there is no such object, and none below it"));
}

}  // namespace

Status ListLocation(StoreOpener& stores, const std::string& location, ListDepth depth, const Visit& visit,
                    std::stop_token stop) {
  ASSIGN_OR_RETURN(const Uri uri, Uri::Parse(location));
  if (uri.is_local()) return ListDirectory(uri, depth, visit);
  if (uri.scheme->lists)
    return ListBucket(stores.OpenerOf(uri), uri, location.back() == '/', depth, visit, stop);
  const std::string shown = ShownUrl(location);
  if (uri.LastPart().empty()) {
    ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, stores.Open(location));
    return store->List("").status();  // which says why not
  }
  ASSIGN_OR_RETURN(const RemoteFile file, stores.OpenFile(location, {Patience::kPlan}, std::move(stop)));
  return visit({shown, false, file.bytes->size(), file.crc32c, {}});
}

}  // namespace pipeline
