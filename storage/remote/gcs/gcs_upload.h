// Uploads the bytes of a spool as an object: small ones in one request, others in a resumable session.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "storage/remote/gcs/gcs_client.h"
#include "storage/remote/gcs/gcs_object.h"
#include "storage/remote/gcs/upload_sessions.h"
#include "storage/remote/http/spool.h"

namespace pipeline {

/// Uploads of this size or more use a resumable session.
inline constexpr std::uint64_t kSessionBytes = 8 << 20;

struct GcsUpload {
  GcsClient& client;
  UploadSessions& sessions;
  std::string bucket;
  std::string name;
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

}  // namespace pipeline
