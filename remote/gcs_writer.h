// Writes one object of a bucket: into a spool, and from there at Commit. Order and limits: remote/gcs.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "remote/gcs_place.h"
#include "remote/gcs_reader.h"
#include "remote/spool.h"
#include "remote/upload_sessions.h"
#include "storage/own_directory.h"
#include "storage/store.h"

namespace pipeline {

struct GcsWriterOptions {
  std::string spool;  // a directory for what is on its way; made when it is needed
  /// It lies where others may write, and is used as MakeOwnDirectory leaves it alone.
  bool is_own = false;
  /// An object larger than this goes up in parts, several at a time, which are then made one; but for what is
  /// sent from where it lies, whose one session another process can go on with.
  std::uint64_t compose_above = std::uint64_t{64} << 30;
  std::uint64_t part_bytes = std::uint64_t{4} << 30;  // more where 32 of them would not do
};

/// Where writers of a store keep what is on its way. Safe from any thread.
struct GcsSpooler {
  explicit GcsSpooler(GcsWriterOptions with)
      : options(std::move(with)), sessions(options.spool + "/sessions") {}
  /// Before anything is put into the spool or read from it.
  Status Prepare() const { return options.is_own ? MakeOwnDirectory(options.spool) : Status(); }
  const GcsWriterOptions options;
  UploadSessions sessions;
};

class GcsWriter final : public ObjectWriter {
 public:
  /// `name`: what the object is called in the store. `spooler` is shared with the store.
  GcsWriter(std::string name, GcsPlace place, Condition condition, std::shared_ptr<GcsSpooler> spooler);

  Status Append(std::string_view bytes) override;
  /// An object of the same account, as first and only content, is copied by the servers; a large local file
  /// is read where it lies, and sent again from its start where its owner edits it before Commit; so is a
  /// large VersionedFile, of which a copy is kept until then.
  Status AppendFile(const ByteFile& file, std::stop_token stop) override;
  Result<ObjectInfo> Commit(std::stop_token stop) override;

 private:
  /// An object that is all there is to write.
  struct Copy {
    GcsPlace place;
    GcsObject object;
  };

  Status AppendBytes(std::string_view bytes);
  /// One state of a file of up to kSpoolMemoryBytes.
  Status AppendSmall(const LocalFile& file, const std::stop_token& stop);
  /// Reads what would have been copied, since more comes.
  Status Unshare(const std::stop_token& stop);
  Result<ObjectInfo> Upload(const std::stop_token& stop);
  /// Absent where the generation that must be there is not.
  Result<std::optional<GcsObject>> Send(const std::string& generation, const std::stop_token& stop);
  /// What must be there now: a generation, or "0". Fails where the condition does not hold.
  Result<std::string> Expected(const std::stop_token& stop) const;
  /// After a refusal: our own object of an attempt whose answer was lost, or one that will do; absent to try
  /// again; or why not.
  Result<std::optional<GcsObject>> Resolve(const std::stop_token& stop);
  Result<bool> HasOurBytes(const GcsObject& object, const std::stop_token& stop);
  ObjectInfo Describe(const GcsObject& object) const;
  std::uint64_t size() const { return copy_ ? copy_->object.size : spool_.size(); }

  const std::string name_;
  const GcsPlace place_;
  const Condition condition_;
  const std::shared_ptr<GcsSpooler> spooler_;
  const std::string mark_;  // tells this write from all others
  Spool spool_;
  std::optional<Copy> copy_;
  Status failed_;  // the first failure is every further answer
};

}  // namespace pipeline
