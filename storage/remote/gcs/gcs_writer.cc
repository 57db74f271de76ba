#include "storage/remote/gcs/gcs_writer.h"

#include <utility>

#include "base/commit_point.h"
#include "base/digest.h"
#include "base/random_name.h"
#include "base/str.h"
#include "storage/local_file.h"
#include "storage/remote/gcs/gcs_upload.h"
#include "storage/remote/http/http_text.h"

namespace pipeline {

namespace {

constexpr int kWriteTurns = 20;  // attempts while others keep replacing the object or changing its source

/// Returns whether both are one file except for ctime; the checksums are compared after the file was read.
bool AreOneFile(const FileIdentity& a, const FileIdentity& b) {
  return a.size == b.size && a.mtime_ns == b.mtime_ns && a.inode == b.inode;
}

class GcsWriter final : public ObjectWriter {
 public:
  /// `name`: of the object in the store. `spooler` is shared with the store.
  GcsWriter(std::string name, GcsLocation location, Condition condition, std::shared_ptr<GcsSpooler> spooler)
      : name_(std::move(name)),
        location_(std::move(location)),
        condition_(std::move(condition)),
        spooler_(std::move(spooler)),
        mark_(RandomName(24)),
        spool_(spooler_->options.spool) {}

  Status Append(std::string_view bytes) override {
    if (failed_.ok()) failed_ = AppendBytes(bytes);
    return failed_;
  }

  /// If `file` is the first and only content: an object of the same account is copied by the servers; a
  /// large local file is read in place, and sent again from its start if its owner edits it before Commit
  /// ends; a large VersionedFile is read in place, through a copy of `file`.
  Status AppendFile(const ByteFile& file, std::stop_token stop) override {
    if (!failed_.ok() || file.size() == 0) return failed_;
    if (stop.stop_requested())
      return failed_ = Status(Code::kCancelled, StrCat(location_.Where(), ": writing was stopped"));
    const auto* versioned = dynamic_cast<const VersionedFile*>(&file);
    const auto* object = dynamic_cast<const GcsFile*>(versioned != nullptr ? &versioned->file() : &file);
    if (object != nullptr && object->client() == location_.client && !copy_ && spool_.size() == 0) {
      copy_ = Copy{{object->client(), object->bucket(), object->object().name}, object->object()};
      return {};
    }
    const auto* local = dynamic_cast<const LocalFile*>(&file);
    if (local != nullptr && !copy_ && spool_.size() == 0 && local->size() > kSpoolMemoryBytes) {
      // An open file stays readable after it is removed; `file` itself may end before Commit.
      Result<std::unique_ptr<LocalFile>> own = LocalFile::Open(local->identity().path, local->keeper());
      if (own.ok() && AreOneFile((*own)->identity(), local->identity())) {
        spool_.Adopt(std::move(own).value());
        return {};
      }
    }
    if (versioned != nullptr && !copy_ && spool_.size() == 0 && versioned->size() > kSpoolMemoryBytes) {
      spool_.Adopt(*versioned);
      return {};
    }
    if (local != nullptr && local->size() <= kSpoolMemoryBytes) return failed_ = AppendSmall(*local, stop);
    failed_ = Unshare(stop);
    if (failed_.ok()) failed_ = ObjectWriter::AppendFile(file, std::move(stop));
    return failed_;
  }

  Result<ObjectInfo> Commit(std::stop_token stop) override {
    if (!failed_.ok()) return failed_;
    failed_ = Status(Code::kInternal, StrCat(location_.Where(), ": its writer was used after Commit"));
    PassCommitPoint("object.written");
    Result<ObjectInfo> info = Upload(stop);
    if (info.ok()) PassCommitPoint("object.visible");
    return info;
  }

 private:
  /// The source object, if it is the whole content.
  struct Copy {
    GcsLocation location;
    GcsObject object;
  };

  Status AppendBytes(std::string_view bytes) {
    if (bytes.empty()) return {};
    RETURN_IF_ERROR(Unshare({}));
    Status kept = spool_.Append(bytes);
    return kept.ok() ? kept : std::move(kept).Annotate(location_.Where());
  }

  /// Appends a file of up to kSpoolMemoryBytes, read in one consistent state.
  Status AppendSmall(const LocalFile& file, const std::stop_token& stop) {
    std::string bytes(static_cast<std::size_t>(file.size()), '\0');
    for (int turn = 0; turn < kWriteTurns; ++turn) {
      ASSIGN_OR_RETURN(const std::int64_t before, file.ChangeTime());
      RETURN_IF_ERROR(ReadAt(file, 0, bytes, stop));
      ASSIGN_OR_RETURN(const std::int64_t after, file.ChangeTime());
      if (before == after) return AppendBytes(bytes);
    }
    return ChangedAgainAndAgain(file.identity().path);
  }

  /// Reads the source of the server-side copy into the spool, because more content follows.
  Status Unshare(const std::stop_token& stop) {
    if (!copy_) return {};
    const Copy copy = *std::exchange(copy_, std::nullopt);
    const GcsFile file(copy.location.client, copy.location.bucket, copy.object);
    ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader, file.Open(0, stop));
    return ReadPieces(*reader, 1 << 20, [this](std::string_view piece) { return spool_.Append(piece); });
  }

  Result<ObjectInfo> Upload(const std::stop_token& stop) {
    if (copy_ && copy_->object.content_type.empty()) RETURN_IF_ERROR(DescribeSource(stop));
    if (condition_.kind == Condition::Kind::kReplaceUnlessSame) {
      ASSIGN_OR_RETURN(const std::optional<GcsObject> there, StatGcsObject(location_, stop));
      if (there) {
        ASSIGN_OR_RETURN(const bool ours, HasOurBytes(*there, stop));
        if (ours) return Describe(*there);
      }
    }
    for (int turn = 0; turn < kWriteTurns; ++turn) {
      ASSIGN_OR_RETURN(const std::string generation, Expected(stop));
      ASSIGN_OR_RETURN(std::optional<GcsObject> made, Send(generation, stop));
      if (!made) {
        ASSIGN_OR_RETURN(made, Resolve(stop));
      }
      if (made) return Describe(*made);
    }
    return Status(Code::kUnavailable, StrCat(location_.Where(), ": others keep replacing it"));
  }

  /// Asks for the content type and coding of the source, which the copy has too: the store's OpenKnown does
  /// not know them.
  Status DescribeSource(const std::stop_token& stop) {
    ASSIGN_OR_RETURN(std::optional<GcsObject> there, StatGcsObject(copy_->location, stop));
    if (!there || there->generation != copy_->object.generation)
      return Status(Code::kDataLoss, StrCat(copy_->location.Where(),
                                            ": was replaced or removed while it was copied; copy it again"));
    copy_->object = std::move(*there);
    return {};
  }

  /// Absent: the expected generation does not exist.
  Result<std::optional<GcsObject>> Send(const std::string& generation, const std::stop_token& stop) {
    if (copy_) return RewriteGcsObject(copy_->location, copy_->object, location_, generation, mark_, stop);
    GcsUpload upload{location_, spooler_->sessions, mark_, generation,
                     std::string(ContentTypeOf(location_.name))};
    const std::string origin = spool_.Origin();
    if (!origin.empty()) {
      const std::string& server = location_.client->settings().endpoint.url;
      upload.key.target = DigestOf(StrCat(server, "\n", location_.Where())).ToHex();
      upload.key.source = DigestOf(StrCat(generation, "\n", origin)).ToHex();
    }
    // A source that another process can resume is uploaded in one session, however large it is: parts of a
    // killed process would begin again.
    if (origin.empty() && spool_.size() > spooler_->options.compose_above) {
      ASSIGN_OR_RETURN(const bool composes, CanCompose(location_));
      if (composes) return ComposeGcsObject(upload, spool_, spooler_->options.part_bytes, stop);
    }
    return UploadGcsObject(upload, {spool_, 0, spool_.size(), {}}, stop);
  }

  /// The generation that must exist now; "0": none. Fails if the condition does not hold.
  Result<std::string> Expected(const std::stop_token& stop) const {
    if (condition_.kind == Condition::Kind::kCreateOnly) return std::string("0");
    if (condition_.kind != Condition::Kind::kReplaceAny) {
      // The server would refuse any other text as a mistake in the request, and 0 means that there is no
      // object.
      if (IsGcsGeneration(condition_.version)) return condition_.version;
      return Status(Code::kFailedPrecondition, StrCat(location_.Where(), ": was replaced by somebody else"));
    }
    ASSIGN_OR_RETURN(const std::optional<GcsObject> there, StatGcsObject(location_, stop));
    return there ? there->generation : std::string("0");
  }

  /// Decides after a failed precondition. Returns the object if it is ours, from an attempt whose answer
  /// was lost, or has the same bytes; absent: try again; or the error.
  Result<std::optional<GcsObject>> Resolve(const std::stop_token& stop) {
    ASSIGN_OR_RETURN(std::optional<GcsObject> there, StatGcsObject(location_, stop));
    if (there && there->upload == mark_) return there;
    bool has_our_bytes = false;
    if (there) {
      ASSIGN_OR_RETURN(has_our_bytes, HasOurBytes(*there, stop));
    }
    switch (condition_.kind) {
      case Condition::Kind::kReplaceAny: break;
      case Condition::Kind::kReplaceUnlessSame:
        if (has_our_bytes) return there;
        [[fallthrough]];
      case Condition::Kind::kReplaceVersion:
        return Status(Code::kFailedPrecondition,
                      StrCat(location_.Where(),
                             there ? ": was replaced by somebody else" : ": was removed by somebody else"));
      case Condition::Kind::kCreateOnly:
        if (!there) break;  // it was removed again
        if (has_our_bytes) return there;
        return Status(Code::kAlreadyExists, StrCat(location_.Where(), ": is there already"));
    }
    return std::nullopt;
  }

  Result<bool> HasOurBytes(const GcsObject& object, const std::stop_token& stop) {
    if (object.size != size() || !object.crc32c) return false;
    if (copy_) return object.crc32c == copy_->object.crc32c;
    ASSIGN_OR_RETURN(const std::uint32_t crc, spool_.Checksum(stop));
    return *object.crc32c == crc;
  }

  ObjectInfo Describe(const GcsObject& object) const {
    return {name_, object.size, object.generation, object.crc32c};
  }

  std::uint64_t size() const { return copy_ ? copy_->object.size : spool_.size(); }

  const std::string name_;
  const GcsLocation location_;
  const Condition condition_;
  const std::shared_ptr<GcsSpooler> spooler_;
  const std::string mark_;  // identifies this write
  Spool spool_;
  std::optional<Copy> copy_;
  Status failed_;  // the first failure; all later calls return it
};

}  // namespace

std::unique_ptr<ObjectWriter> NewGcsWriter(std::string name, GcsLocation location, Condition condition,
                                           std::shared_ptr<GcsSpooler> spooler) {
  return std::make_unique<GcsWriter>(std::move(name), std::move(location), std::move(condition),
                                     std::move(spooler));
}

}  // namespace pipeline
