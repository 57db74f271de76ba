#include "storage/remote/gcs/gcs_store.h"

#include <algorithm>
#include <utility>

#include "base/str.h"
#include "storage/local_names.h"
#include "storage/local_store.h"
#include "storage/remote/gcs/gcs_reader.h"
#include "storage/remote/gcs/gcs_upload.h"

namespace pipeline {

namespace {

std::string_view LastPart(std::string_view name) { return name.substr(name.rfind('/') + 1); }

ObjectInfo Describe(std::string name, const GcsObject& object) {
  return {std::move(name), object.size, object.generation, object.crc32c};
}

}  // namespace

GcsStore::GcsStore(std::shared_ptr<GcsClient> client, std::string bucket, std::string_view prefix,
                   GcsWriterOptions options)
    : client_(std::move(client)),
      bucket_(std::move(bucket)),
      prefix_(prefix.empty() ? "" : StrCat(prefix, "/")),
      spooler_(std::make_shared<GcsSpooler>(std::move(options))) {}

Result<GcsLocation> GcsStore::LocationOf(std::string_view name) const {
  RETURN_IF_ERROR(CheckGcsName(name));
  RETURN_IF_ERROR(CheckGcsName(StrCat(prefix_, name)));
  if (ParseTemporaryName(LastPart(name)))
    return Status(Code::kInvalidArgument,
                  StrCat("object name '", name, "': this form is kept for unfinished objects"));
  return GcsLocation{client_, bucket_, StrCat(prefix_, name)};
}

Result<std::unique_ptr<ByteFile>> GcsStore::Open(std::string_view name) {
  ASSIGN_OR_RETURN(const GcsLocation location, LocationOf(name));
  ASSIGN_OR_RETURN(std::optional<GcsObject> object, StatGcsObject(location, {}));
  if (!object) return Status(Code::kNotFound, StrCat(location.Where(), ": no such object"));
  return std::unique_ptr<ByteFile>(std::make_unique<GcsFile>(client_, bucket_, std::move(*object)));
}

Result<std::unique_ptr<ObjectWriter>> GcsStore::Create(std::string_view name, Condition condition) {
  ASSIGN_OR_RETURN(GcsLocation location, LocationOf(name));
  RETURN_IF_ERROR(spooler_->Prepare());
  return std::unique_ptr<ObjectWriter>(
      std::make_unique<GcsWriter>(std::string(name), std::move(location), std::move(condition), spooler_));
}

Result<std::optional<ObjectInfo>> GcsStore::Stat(std::string_view name) {
  ASSIGN_OR_RETURN(const GcsLocation location, LocationOf(name));
  ASSIGN_OR_RETURN(const std::optional<GcsObject> object, StatGcsObject(location, {}));
  return object ? std::optional(Describe(std::string(name), *object)) : std::nullopt;
}

Result<std::vector<ObjectInfo>> GcsStore::List(std::string_view prefix) {
  std::vector<ObjectInfo> objects;
  const auto keep = [&](const GcsObject& object) -> Status {
    const std::string_view name = std::string_view(object.name).substr(prefix_.size());
    // Other programs write objects whose names are invalid here, such as "directories".
    if (LocationOf(name).ok()) objects.push_back(Describe(std::string(name), object));
    return {};
  };
  RETURN_IF_ERROR(ListGcsObjects(client_, bucket_, StrCat(prefix_, prefix), keep, {}));
  return objects;
}

Status GcsStore::Remove(std::string_view name) {
  ASSIGN_OR_RETURN(const GcsLocation location, LocationOf(name));
  return RemoveGcsObject(location, {});
}

Status GcsStore::Sweep(std::string_view prefix) {
  RETURN_IF_ERROR(spooler_->Prepare());
  ASSIGN_OR_RETURN(const std::vector<Secret> sessions, spooler_->sessions.TakeAbandoned());
  // A session that cannot be cancelled ends by itself within a week, invisible and free of charge.
  for (const Secret& session : sessions)
    if (!CancelGcsSession(*client_, session).ok()) break;
  RETURN_IF_ERROR(LocalStore(spooler_->options.spool).Sweep(Spool::kSpoolName));
  // Parts of very large objects are beside the object NAME and are called ".NAME.tmp.…".
  const std::size_t slash = prefix.rfind('/') + 1;
  const auto remove = [&](const GcsObject& object) -> Status {
    const std::string_view last = LastPart(object.name);
    const std::optional<TemporaryName> part = ParseTemporaryName(last);
    if (!part || !WriterIsGone(*part)) return {};
    const std::string_view above = std::string_view(object.name).substr(0, object.name.size() - last.size());
    if (!MayBelongTo(*part, above, StrCat(prefix_, prefix))) return {};
    return RemoveGcsObject({client_, bucket_, object.name}, {});
  };
  return ListGcsObjects(client_, bucket_, StrCat(prefix_, prefix.substr(0, slash)), remove, {});
}

}  // namespace pipeline
