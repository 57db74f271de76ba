// Very large objects: parts, several of which go up at a time, and which the servers then make one.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>

#include "base/result.h"
#include "remote/gcs_place.h"
#include "remote/gcs_upload.h"
#include "remote/spool.h"

namespace pipeline {

/// False where removing parts again would be forbidden, or billed for longer than they lie there: a retention
/// policy, another storage class than STANDARD; and where we may not ask.
Result<bool> CanCompose(const GcsPlace& place);

/// Puts parts beside the object, under names of storage/local_names.h, and removes them whatever happens;
/// those of a process that was killed, Store::Sweep removes. Otherwise as UploadGcsObject.
Result<std::optional<GcsObject>> ComposeGcsObject(const GcsPlace& place, const GcsUpload& upload,
                                                  Spool& spool, std::uint64_t part_bytes,
                                                  std::stop_token stop);

}  // namespace pipeline
