// Uploads the bytes of a spool as an object: small ones in one request, others in a resumable session, very
// large ones as parts, several at a time, which the servers then compose into one (gcs_compose.cc).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "storage/remote/gcs/gcs_client.h"
#include "storage/remote/gcs/gcs_location.h"
#include "storage/remote/gcs/gcs_object.h"
#include "storage/remote/gcs/upload_sessions.h"
#include "storage/remote/http/spool.h"

namespace pipeline {

/// Uploads of this size or more use a resumable session.
inline constexpr std::uint64_t kSessionBytes = 8 << 20;

struct GcsUpload {
  GcsLocation location;
  UploadSessions& sessions;
  std::string mark;        // identifies this write, see kUploadMark
  std::string generation;  // that must exist at the target; "0": none
  std::string content_type = "application/octet-stream";
  UploadKey key = {};  // identifies the session for the next process
};

/// The bytes of a spool from `offset` on.
struct GcsUploadBytes {
  Spool& spool;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::optional<std::uint32_t> crc32c;  // absent: of the whole spool, computed while sending
};

/// Retries until it succeeds or cannot succeed. Returns nothing if the generation precondition fails,
/// possibly because an earlier attempt succeeded. Compares the server's checksum with ours: if they differ,
/// removes the object and returns kDataLoss.
Result<std::optional<GcsObject>> UploadGcsObject(const GcsUpload& upload, const GcsUploadBytes& bytes,
                                                 std::stop_token stop);

/// Cancels a session that nobody will resume; OK also if it is already over.
Status CancelGcsSession(GcsClient& client, const Secret& uri);

/// False if the parts could not be removed at once without extra cost (a retention policy, an event-based
/// hold, a storage class other than STANDARD), if their names would be too long, or if the bucket's
/// properties may not be read.
Result<bool> CanCompose(const GcsLocation& location);

/// Uploads the parts beside the object, under names of storage/local_names.h, and always removes them;
/// Store::Sweep removes those of a killed process. Otherwise as UploadGcsObject.
Result<std::optional<GcsObject>> ComposeGcsObject(const GcsUpload& upload, Spool& spool,
                                                  std::uint64_t part_bytes, std::stop_token stop);

}  // namespace pipeline
