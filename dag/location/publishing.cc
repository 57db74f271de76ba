#include "dag/location/publishing.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "base/enumeration.h"
#include "base/json_fields.h"
#include "base/str.h"
#include "dag/books/location_log.h"
#include "dag/location/location_lock.h"
#include "dag/location/numbered_lease.h"
#include "storage/local_store.h"

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

Status ListNames(const Publishing& by, Store& out, const std::vector<ObjectInfo>& there,
                 const std::vector<std::string>& planned, LocationNames& names, std::stop_token stop) {
  const Result<Manifest> manifest = ReadManifest(out, by.location, stop);
  ASSIGN_OR_RETURN(LocationContents contents, TellApart({out, there, manifest.ok() ? &*manifest : nullptr,
                                                         by.names, by.log, by.stage, by.location},
                                                        names));
  // Without a complete list nothing tells the objects of others from ours. With one, planning has refused
  // such objects, so these came later.
  const NameSet others(contents.others.begin(), contents.others.end());
  std::vector<std::string> taken;
  for (const std::string& name : planned)
    if (names.complete() && others.contains(name)) taken.push_back(name);
  if (!taken.empty())
    return Status(Code::kFailedPrecondition,
                  StrCat(by.location, ": no run wrote ", FirstOf(taken),
                         ", and this run would write over that; move it elsewhere and run again"));
  contents.ours.insert(contents.ours.end(), planned.begin(), planned.end());
  return names.Add(contents.ours, std::move(stop));
}

Status RemoveLeftovers(const Publishing& by, Store& out, const Manifest& manifest, LocationNames& names,
                       std::stop_token stop) {
  const std::vector<std::string> objects = NamesIn(manifest);
  const NameSet kept(objects.begin(), objects.end());
  RETURN_IF_ERROR(names.RemoveOthers(
      kept,
      [&](std::string_view name) {
        by.note(StrCat("removed ", by.location, "/", name,
                       ": left there by an earlier run, not part of the artifact"));
      },
      std::move(stop)));
  ASSIGN_OR_RETURN(std::vector<ObjectInfo> there, out.List(""));
  std::vector<std::string> others;
  for (ObjectInfo& object : OwnObjects(std::move(there)))
    if (object.name != kManifestName && !kept.contains(object.name)) others.push_back(std::move(object.name));
  if (!others.empty())
    by.note(StrCat(by.location, ": ", FirstOf(others), " beside the artifact ",
                   others.size() == 1 ? "stays" : "stay", ": no run wrote ",
                   others.size() == 1 ? "it" : "them"));
  return {};
}

namespace {
constexpr std::size_t kChunk = 1 << 20;
}  // namespace

Result<bool> HoldsBytes(Store& store, const StoredObject& object, std::stop_token stop) {
  ASSIGN_OR_RETURN(const std::optional<ObjectInfo> there, store.Stat(object.name));
  if (!there || !object.IsAt(*there)) return false;
  if (there->crc32c) return true;
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteFile> file, store.Open(object.name));
  const ByteFile& bytes = *file;
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader, bytes.Open(0, std::move(stop)));
  Hasher hasher;
  std::string chunk(kChunk, '\0');
  for (;;) {
    ASSIGN_OR_RETURN(const std::size_t got, reader->Read(chunk));
    if (got == 0) return hasher.Finish() == object.digest;
    hasher.Update(std::string_view(chunk).substr(0, got));
  }
}

template <class Fields, Of<PublicationMarker> T>
void ListFields(Fields& fields, T& marker) {
  fields.Written("stage", marker.stage).Written("recipe", marker.recipe).Written("holder", marker.holder);
  fields.Loose("others", marker.others);
}

namespace {

constexpr std::uint64_t kMaxMarkerBytes = 64 << 10;

std::string Encode(const PublicationMarker& marker) { return JsonWriter::ValueOf(marker).DumpPretty(); }

}  // namespace

Result<std::optional<PublicationMarker>> ReadMarker(Store& out) {
  const Result<std::string> text = ReadObject(out, kMarkerName, kMaxMarkerBytes);
  if (text.status().code() == Code::kNotFound) return std::nullopt;
  RETURN_IF_ERROR(text.status());
  const Result<Json> json = Json::Parse(*text);
  if (!json.ok() || !json->is_object()) return std::optional(PublicationMarker{{}, {}, {}, true});
  return std::optional(JsonFields::ReadLoosely<PublicationMarker>(*json));
}

Status WriteMarker(const Publishing& by, Store& out) {
  ASSIGN_OR_RETURN(const std::optional<PublicationMarker> before, ReadMarker(out));
  PublicationMarker marker{by.stage, by.recipe.ToHex(), by.holder, false};
  marker.others =
      before && (before->others || before->recipe != marker.recipe || before->holder != marker.holder);
  const std::string text = Encode(marker);
  if (before && Encode(*before) == text) return {};
  ASSIGN_OR_RETURN(const std::optional<ObjectInfo> there, out.Stat(kMarkerName));
  const Condition condition = there ? Condition::ReplaceUnlessSame(there->version) : Condition::CreateOnly();
  return WriteObject(out, kMarkerName, text, condition).status();
}

namespace {

/// Returns whether each file below `path` is in `.pipe/`.
Result<bool> HasOwnFilesAlone(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::path own = path / kOwnPrefix.substr(0, kOwnPrefix.size() - 1);
  std::filesystem::recursive_directory_iterator at(path, error), end;
  for (; !error && at != end; at.increment(error)) {
    const bool is_directory = std::filesystem::is_directory(at->symlink_status(error));
    if (is_directory && at->path() == own) at.disable_recursion_pending();
    if (!is_directory) return false;
  }
  if (error) return SystemError(StrCat("listing ", path.string()), error.value());
  return true;
}

}  // namespace

Result<bool> RemoveIfEmpty(const std::string& path, const LeaseTerms& terms) {
  ASSIGN_OR_RETURN(const bool empty, HasOwnFilesAlone(path));
  if (!empty) return false;
  LocalStore store(path);
  ASSIGN_OR_RETURN(const std::optional<PublicationMarker> marker, ReadMarker(store));
  if (marker && (marker->others || marker->holder != terms.holder)) return false;
  ASSIGN_OR_RETURN(const std::optional<SeenLease> seen, NumberedLease(store, path, terms, true).Look({}));
  if (seen && !seen->holder.empty() && seen->holder != terms.holder) return false;
  const Result<std::unique_ptr<LocationLock>> lock = LocationLock::Take(path, terms.who);
  if (!lock.ok()) return false;
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error) return SystemError(StrCat("removing ", path), error.value());
  return true;
}

}  // namespace pipeline
