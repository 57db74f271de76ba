#include "storage/local_store.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>

#include "base/str.h"
#include "storage/directory.h"
#include "storage/kept_part.h"
#include "storage/local_error.h"
#include "storage/local_file.h"
#include "storage/local_names.h"
#include "storage/local_writer.h"
#include "storage/store.h"

namespace pipeline {

namespace {

std::string_view LastPart(std::string_view name) { return name.substr(name.rfind('/') + 1); }

struct Entry {
  std::string name;  // relative to the root
  bool is_directory;
  bool is_file;  // or a link to one; an entry that is gone is neither
};

/// Returns the entries of the directory `path` as names that begin with `above`. Empty: there is no such
/// directory.
Result<std::vector<Entry>> ReadDirectory(const std::string& path, const std::string& above) {
  std::vector<Entry> entries;
  std::error_code error, gone;
  std::filesystem::directory_iterator at(path, error);
  for (; !error && at != std::filesystem::directory_iterator(); at.increment(error))
    // The file system is asked about links alone, and about all entries where it tells no types: a directory
    // that nobody can look at fails when it is listed, and is not passed over.
    entries.push_back({StrCat(above, at->path().filename().string()),
                       at->is_directory(gone) && !at->is_symlink(gone), at->is_regular_file(gone)});
  if (error.value() == ENOENT || error.value() == ENOTDIR) return std::vector<Entry>();
  if (error) return LocalError(path, "cannot list", error.value());
  return entries;
}

using Visit = std::function<Status(std::string name)>;

/// Calls `visit` with each file below `root` whose directory can hold objects that begin with `prefix`.
/// Temporaries are included; the order is arbitrary; a file may come twice while others rename files.
Status Walk(const std::string& root, std::string_view prefix, const Visit& visit) {
  std::string start;  // the directories that the prefix names, with a `/` at the end
  if (const std::size_t slash = prefix.rfind('/'); slash != std::string_view::npos) {
    if (!CheckObjectName(prefix.substr(0, slash)).ok()) return {};  // no object has such a name
    start = prefix.substr(0, slash + 1);
  }
  std::vector<std::string> pending = {start};
  while (!pending.empty()) {
    const std::string above = std::move(pending.back());
    pending.pop_back();
    ASSIGN_OR_RETURN(const std::vector<Entry> entries, ReadDirectory(StrCat(root, "/", above), above));
    for (const Entry& entry : entries) {
      if (entry.is_file) RETURN_IF_ERROR(visit(entry.name));
      const std::string inside = entry.name + "/";
      if (entry.is_directory && std::string_view(inside).substr(0, prefix.size()) == prefix)
        pending.push_back(inside);
    }
  }
  return {};
}

}  // namespace

LocalStore::LocalStore(const std::string& root) {
  std::error_code unknown;  // the working directory was removed; every call will report it
  std::filesystem::path path = std::filesystem::absolute(root.empty() ? "." : root, unknown);
  // The kernel resolves `..` after a link, so the text alone cannot resolve it.
  if (root.find("..") == std::string::npos) path = path.lexically_normal();
  root_ = unknown ? StrCat("./", root) : path.string();
  while (root_.size() > 1 && root_.back() == '/') root_.pop_back();
}

std::string LocalStore::PathOf(std::string_view name) const {
  return StrCat(root_, root_ == "/" ? "" : "/", name);
}

Result<std::unique_ptr<ByteFile>> LocalStore::Open(std::string_view name) {
  return OpenKnown(ObjectInfo::Any(std::string(name)));
}

Result<std::unique_ptr<ByteFile>> LocalStore::OpenKnown(const ObjectInfo& known) {
  RETURN_IF_ERROR(CheckLocalName(known.name));
  Result<std::unique_ptr<LocalFile>> file = LocalFile::Open(PathOf(known.name), LocalFile::Keeper::kStore);
  if (!file.ok() && file.status().code() == Code::kInvalidArgument)
    // It is a directory, or a part of its path is a file.
    return Status(Code::kNotFound, std::string(file.status().message()));
  if (!file.ok()) return std::move(file).status();
  if (!known.version.empty() && DescribeObject(known.name, (*file)->identity()).version != known.version)
    return Status(Code::kNotFound, StrCat(PathOf(known.name), ": was replaced"));
  return std::unique_ptr<ByteFile>(std::move(file).value());
}

Result<std::unique_ptr<ObjectWriter>> LocalStore::Create(std::string_view name, Condition condition) {
  RETURN_IF_ERROR(CheckLocalName(name));
  return LocalWriter::Create(std::string(name), PathOf(name), std::move(condition));
}

Result<std::optional<ObjectInfo>> LocalStore::Stat(std::string_view name) {
  RETURN_IF_ERROR(CheckLocalName(name));
  Result<FileIdentity> identity = IdentifyFile(PathOf(name));
  if (identity.ok()) return std::optional(DescribeObject(std::string(name), *identity));
  const Code code = identity.status().code();
  if (code == Code::kNotFound || code == Code::kInvalidArgument) return std::nullopt;
  return std::move(identity).status();
}

Result<std::vector<ObjectInfo>> LocalStore::List(std::string_view prefix) {
  std::vector<ObjectInfo> objects;
  RETURN_IF_ERROR(Walk(root_, prefix, [&](std::string name) -> Status {
    if (!name.starts_with(prefix) || !CheckLocalName(name).ok()) return {};
    ASSIGN_OR_RETURN(std::optional<ObjectInfo> info, Stat(name));
    if (info) objects.push_back(std::move(*info));
    return {};
  }));
  std::ranges::sort(objects, {}, &ObjectInfo::name);
  const auto same = [](const ObjectInfo& one, const ObjectInfo& other) { return one.name == other.name; };
  objects.erase(std::unique(objects.begin(), objects.end(), same), objects.end());
  return objects;
}

Status LocalStore::Remove(std::string_view name) {
  RETURN_IF_ERROR(CheckLocalName(name));
  const std::string path = PathOf(name);
  const std::string directory = ParentDirectory(path);
  Result<DirectoryLock> lock = DirectoryLock::Acquire(directory);
  if (!lock.ok()) {
    const Code code = lock.status().code();
    const bool nothing_there = code == Code::kNotFound || code == Code::kInvalidArgument;
    return nothing_there ? Status() : std::move(lock).status();
  }
  if (unlink(path.c_str()) == 0) return SyncDirectory(directory);
  if (errno == ENOENT || errno == EISDIR) return {};
  return LocalError(path, "cannot remove", errno);
}

// One lock and one sync for many names of a directory: with a sync each, the removal of a small object costs
// more than its work.
Status LocalStore::RemoveAll(std::span<const ObjectInfo> objects, const std::function<bool()>& removed) {
  constexpr std::size_t kAtOnce = 256;  // other writers of the directory wait that long
  while (!objects.empty()) {
    RETURN_IF_ERROR(CheckLocalName(objects.front().name));
    const std::string directory = ParentDirectory(PathOf(objects.front().name));
    const Result<DirectoryLock> lock = DirectoryLock::Acquire(directory);
    if (!lock.ok()) {
      // Remove knows whether that is a failure.
      RETURN_IF_ERROR(Store::RemoveAll(objects.first(1), [] { return true; }));
      if (!removed()) return {};
      objects = objects.subspan(1);
      continue;
    }
    bool goes_on = true;
    for (std::size_t left = kAtOnce; left > 0 && goes_on && !objects.empty();
         --left, objects = objects.subspan(1)) {
      const std::string path = PathOf(objects.front().name);
      if (!CheckLocalName(objects.front().name).ok() || ParentDirectory(path) != directory) break;
      ASSIGN_OR_RETURN(const bool is_in, IsIn(objects.front()));
      if (is_in && unlink(path.c_str()) != 0 && errno != ENOENT && errno != EISDIR)
        return LocalError(path, "cannot remove", errno);
      goes_on = removed();
    }
    RETURN_IF_ERROR(SyncDirectory(directory));
    if (!goes_on) return {};
  }
  return {};
}

/// Returns whether the object has the version of `known`, if that has one.
Result<bool> LocalStore::IsIn(const ObjectInfo& known) {
  if (known.version.empty()) return true;
  ASSIGN_OR_RETURN(const std::optional<ObjectInfo> now, Stat(known.name));
  return now && now->version == known.version;
}

Status LocalStore::Sweep(std::string_view prefix) {
  return Walk(root_, prefix, [&](const std::string& name) -> Status {
    const std::string_view last = LastPart(name);
    const std::string_view above = std::string_view(name).substr(0, name.size() - last.size());
    if (const std::optional<std::string_view> named = ParseKeptPart(last))
      return MayBelongTo(*named, above, prefix) ? RemoveOldPart(PathOf(name)) : Status();
    const std::optional<TemporaryName> temporary = ParseTemporaryName(last);
    if (!temporary) return {};
    return MayBelongTo(temporary->object, above, prefix) ? RemoveAbandoned(PathOf(name), *temporary)
                                                         : Status();
  });
}

Status SweepDirectory(const std::string& path) {
  ASSIGN_OR_RETURN(const std::vector<Entry> entries, ReadDirectory(path, ""));
  for (const Entry& entry : entries) {
    const std::string at = StrCat(path, "/", entry.name);
    if (const std::optional<TemporaryName> temporary = ParseTemporaryName(entry.name))
      RETURN_IF_ERROR(RemoveAbandoned(at, *temporary));
    if (ParseKeptPart(entry.name)) RETURN_IF_ERROR(RemoveOldPart(at));
  }
  return {};
}

}  // namespace pipeline
