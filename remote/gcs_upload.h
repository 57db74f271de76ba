// Bytes of a spool become an object: in one request while they are few, else in a resumable session.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "remote/gcs_client.h"
#include "remote/gcs_object.h"
#include "remote/spool.h"
#include "remote/upload_sessions.h"

namespace pipeline {

/// From this size on an upload is a session that can be resumed.
inline constexpr std::uint64_t kSessionBytes = 8 << 20;

struct GcsUpload {
  GcsClient& client;
  UploadSessions& sessions;
  std::string bucket;
  std::string name;
  std::string mark;        // tells this write from all others, see kUploadMark
  std::string generation;  // that must be there; "0": none
  std::string content_type = "application/octet-stream";
  UploadKey key = {};  // of a session that the next process may go on with
};

/// The bytes of a spool from `offset` on.
struct GcsUploadBytes {
  Spool& spool;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::optional<std::uint32_t> crc32c;  // absent: of the whole spool, and taken while it is sent
};

/// Tries until it is done or there is no hope. Absent where another generation is there than must be: perhaps
/// the one that an earlier attempt made. Compares what the server took with what was given; kDataLoss, and
/// the object is removed, where they differ.
Result<std::optional<GcsObject>> UploadGcsObject(const GcsUpload& upload, const GcsUploadBytes& bytes,
                                                 std::stop_token stop);

/// Ends a session that nobody goes on with; OK also where it was over.
Status CancelGcsSession(GcsClient& client, const Secret& uri);

}  // namespace pipeline
