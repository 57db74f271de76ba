// Writes one object of a bucket: Append fills a spool, Commit uploads it. Order and limits:
// storage/remote/gcs/gcs.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "storage/own_directory.h"
#include "storage/remote/gcs/gcs_location.h"
#include "storage/remote/gcs/gcs_reader.h"
#include "storage/remote/gcs/upload_sessions.h"
#include "storage/remote/http/spool.h"
#include "storage/store.h"

namespace pipeline {

struct GcsWriterOptions {
  std::string spool;  // directory for bytes before their upload; created when needed
  /// The spool is in a directory that others can write to: it is used only if MakeOwnDirectory accepts it.
  bool is_own = false;
  /// A larger object is uploaded in parallel parts, which are then composed. Exception: a file that is sent
  /// from its own location, because the next process can resume its single session.
  std::uint64_t compose_above = std::uint64_t{64} << 30;
  std::uint64_t part_bytes = std::uint64_t{4} << 30;  // more if the object would need over 32 parts
};

/// The spool directory and upload sessions of a store's writers. Safe from any thread.
struct GcsSpooler {
  explicit GcsSpooler(GcsWriterOptions with)
      : options(std::move(with)), sessions(options.spool + "/sessions") {}
  /// Call before the spool is written or read.
  Status Prepare() const { return options.is_own ? MakeOwnDirectory(options.spool) : Status(); }
  const GcsWriterOptions options;
  UploadSessions sessions;
};

class GcsWriter final : public ObjectWriter {
 public:
  /// `name`: of the object in the store. `spooler` is shared with the store.
  GcsWriter(std::string name, GcsLocation location, Condition condition, std::shared_ptr<GcsSpooler> spooler);

  Status Append(std::string_view bytes) override;
  /// If `file` is the first and only content: an object of the same account is copied by the servers; a
  /// large local file is read in place, and sent again from its start if its owner edits it before Commit
  /// ends; a large VersionedFile is read in place, through a copy of `file`.
  Status AppendFile(const ByteFile& file, std::stop_token stop) override;
  Result<ObjectInfo> Commit(std::stop_token stop) override;

 private:
  /// The source object, if it is the whole content.
  struct Copy {
    GcsLocation location;
    GcsObject object;
  };

  Status AppendBytes(std::string_view bytes);
  /// Appends a file of up to kSpoolMemoryBytes, read in one consistent state.
  Status AppendSmall(const LocalFile& file, const std::stop_token& stop);
  /// Reads the source of the server-side copy into the spool, because more content follows.
  Status Unshare(const std::stop_token& stop);
  Result<ObjectInfo> Upload(const std::stop_token& stop);
  /// Asks for the content type and coding of the source, which the copy has too: GcsStore::OpenKnown does not
  /// know them.
  Status DescribeSource(const std::stop_token& stop);
  /// Absent: the expected generation does not exist.
  Result<std::optional<GcsObject>> Send(const std::string& generation, const std::stop_token& stop);
  /// The generation that must exist now; "0": none. Fails if the condition does not hold.
  Result<std::string> Expected(const std::stop_token& stop) const;
  /// Decides after a failed precondition. Returns the object if it is ours, from an attempt whose answer
  /// was lost, or has the same bytes; absent: try again; or the error.
  Result<std::optional<GcsObject>> Resolve(const std::stop_token& stop);
  Result<bool> HasOurBytes(const GcsObject& object, const std::stop_token& stop);
  ObjectInfo Describe(const GcsObject& object) const;
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

}  // namespace pipeline
