#include "storage/remote/gcs/gcs_store.h"

#include <algorithm>
#include <utility>

#include "base/str.h"
#include "storage/local_names.h"
#include "storage/local_store.h"
#include "storage/remote/gcs/gcs_batch.h"
#include "storage/remote/gcs/gcs_reader.h"
#include "storage/remote/gcs/gcs_upload.h"

namespace pipeline {

namespace {

std::string_view LastPart(std::string_view name) { return name.substr(name.rfind('/') + 1); }

ObjectInfo Describe(std::string name, const GcsObject& object) {
  return {std::move(name), object.size, object.generation, object.crc32c};
}

class GcsStore final : public Store {
 public:
  /// `prefix`: no slash at its end; may be empty. `client` is shared with all users of the account, and
  /// kept by files and writers.
  GcsStore(std::shared_ptr<GcsClient> client, std::string bucket, std::string_view prefix,
           GcsWriterOptions options)
      : client_(std::move(client)),
        bucket_(std::move(bucket)),
        prefix_(prefix.empty() ? "" : StrCat(prefix, "/")),
        spooler_(std::make_shared<GcsSpooler>(std::move(options))) {}

  Result<std::unique_ptr<ByteFile>> Open(std::string_view name) override {
    ASSIGN_OR_RETURN(const GcsLocation location, LocationOf(name));
    ASSIGN_OR_RETURN(std::optional<GcsObject> object, StatGcsObject(location, {}));
    if (!object) return Status(Code::kNotFound, StrCat(location.Where(), ": no such object"));
    return std::make_unique<GcsFile>(client_, bucket_, std::move(*object));
  }

  /// Sends no request.
  Result<std::unique_ptr<ByteFile>> OpenKnown(const ObjectInfo& known) override {
    if (known.version.empty()) return Open(known.name);
    ASSIGN_OR_RETURN(const GcsLocation location, LocationOf(known.name));
    if (!IsGcsGeneration(known.version))
      return Status(Code::kNotFound, StrCat(location.Where(), ": was replaced by somebody else"));
    return std::make_unique<GcsFile>(
        client_, bucket_, GcsObject{location.name, known.size, known.version, known.crc32c, {}, {}, {}});
  }

  Result<std::unique_ptr<ObjectWriter>> Create(std::string_view name, Condition condition) override {
    ASSIGN_OR_RETURN(GcsLocation location, LocationOf(name));
    RETURN_IF_ERROR(spooler_->Prepare());
    return NewGcsWriter(std::string(name), std::move(location), std::move(condition), spooler_);
  }

  Result<std::optional<ObjectInfo>> Stat(std::string_view name) override {
    ASSIGN_OR_RETURN(const GcsLocation location, LocationOf(name));
    ASSIGN_OR_RETURN(const std::optional<GcsObject> object, StatGcsObject(location, {}));
    return object ? std::optional(Describe(std::string(name), *object)) : std::nullopt;
  }

  Result<std::vector<ObjectInfo>> List(std::string_view prefix) override {
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

  Status Remove(std::string_view name) override {
    ASSIGN_OR_RETURN(const GcsLocation location, LocationOf(name));
    return RemoveGcsObject(location, {});
  }

  /// In groups of up to kMostInGcsBatch: `removed` is called for all of a group after all of it.
  Status RemoveAll(std::span<const ObjectInfo> objects, const std::function<bool()>& removed) override {
    bool goes_on = true;
    while (!objects.empty() && goes_on) {
      std::vector<GcsGeneration> known;
      std::size_t count = 0;  // of the objects that `known` settles
      Result<GcsLocation> next = GcsLocation{};
      for (; count < std::min(objects.size(), kMostInGcsBatch); ++count) {
        const ObjectInfo& object = objects[count];
        next = LocationOf(object.name);
        if (!next.ok() || object.version.empty()) break;
        // Any other version was never the object's.
        if (IsGcsGeneration(object.version)) known.push_back({std::move(next->name), object.version});
      }
      RETURN_IF_ERROR(RemoveGcsGenerations(client_, bucket_, known, {}));
      if (count == 0 && next.ok()) {
        RETURN_IF_ERROR(RemoveGcsObject(*next, {}));
        count = 1;
      }
      for (std::size_t at = 0; at < count; ++at) goes_on = removed() && goes_on;
      if (!next.ok()) return std::move(next).status();
      objects = objects.subspan(count);
    }
    return {};
  }

  /// Also removes spool files that dead writers of this machine left, and their open upload sessions.
  Status Sweep(std::string_view prefix) override {
    RETURN_IF_ERROR(EndLeftUploadsIn(*client_, *spooler_));
    // Parts of very large objects are beside the object NAME and are called ".NAME.tmp.…".
    const std::size_t slash = prefix.rfind('/') + 1;
    std::vector<GcsGeneration> abandoned;
    const auto visit = [&](const GcsObject& object) -> Status {
      const std::string_view last = LastPart(object.name);
      const std::optional<TemporaryName> part = ParseTemporaryName(last);
      if (!part || !WriterIsGone(*part)) return {};
      const std::string_view above =
          std::string_view(object.name).substr(0, object.name.size() - last.size());
      if (MayBelongTo(part->object, above, StrCat(prefix_, prefix)))
        abandoned.push_back({object.name, object.generation});
      return {};
    };
    RETURN_IF_ERROR(ListGcsObjects(client_, bucket_, StrCat(prefix_, prefix.substr(0, slash)), visit, {}));
    return RemoveGcsGenerations(client_, bucket_, abandoned, {});
  }

 private:
  Result<GcsLocation> LocationOf(std::string_view name) const {
    RETURN_IF_ERROR(CheckGcsName(name));
    RETURN_IF_ERROR(CheckGcsName(StrCat(prefix_, name)));
    if (ParseTemporaryName(LastPart(name)))
      return Status(Code::kInvalidArgument,
                    StrCat("object name '", name, "': this form is kept for unfinished objects"));
    return GcsLocation{client_, bucket_, StrCat(prefix_, name)};
  }

  const std::shared_ptr<GcsClient> client_;
  const std::string bucket_;
  const std::string prefix_;                   // empty, or ends with a slash
  const std::shared_ptr<GcsSpooler> spooler_;  // shared with the writers, which may outlive the store
};

}  // namespace

Status EndLeftUploadsIn(GcsClient& client, GcsSpooler& spooler) {
  RETURN_IF_ERROR(spooler.Prepare());
  ASSIGN_OR_RETURN(const std::vector<Secret> sessions, spooler.sessions.TakeAbandoned());
  // A session that cannot be cancelled ends by itself within a week, invisible and free of charge.
  for (const Secret& session : sessions)
    if (!CancelGcsSession(client, session).ok()) break;
  return LocalStore(spooler.options.spool).Sweep(Spool::kSpoolName);
}

std::unique_ptr<Store> NewGcsStore(std::shared_ptr<GcsClient> client, std::string bucket,
                                   std::string_view prefix, GcsWriterOptions options) {
  return std::make_unique<GcsStore>(std::move(client), std::move(bucket), prefix, std::move(options));
}

}  // namespace pipeline
