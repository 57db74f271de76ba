// Writes one object of a bucket: Append fills a spool, Commit uploads it. Order and limits:
// storage/remote/gcs/gcs.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "storage/directory.h"
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

/// Writes the object `name` of a store, which is at `location`. `spooler` is shared with the store.
/// AppendFile, if the file is the first and only content: an object of the same account is copied by the
/// servers; a large local file is read in place, and sent again from its start if its owner edits it before
/// Commit ends; a large VersionedFile is read in place, through a copy of it.
std::unique_ptr<ObjectWriter> NewGcsWriter(std::string name, GcsLocation location, Condition condition,
                                           std::shared_ptr<GcsSpooler> spooler);

}  // namespace pipeline
