// Uploads very large objects as parts, several at a time, which the servers then compose into one.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>

#include "base/result.h"
#include "storage/remote/gcs/gcs_location.h"
#include "storage/remote/gcs/gcs_upload.h"
#include "storage/remote/http/spool.h"

namespace pipeline {

/// False if the parts could not be removed at once without extra cost (a retention policy, an event-based
/// hold, a storage class other than STANDARD), if their names would be too long, or if the bucket's
/// properties may not be read.
Result<bool> CanCompose(const GcsLocation& location);

/// Uploads the parts beside the object, under names of storage/local_names.h, and always removes them;
/// Store::Sweep removes those of a killed process. Otherwise as UploadGcsObject.
Result<std::optional<GcsObject>> ComposeGcsObject(const GcsLocation& location, const GcsUpload& upload,
                                                  Spool& spool, std::uint64_t part_bytes,
                                                  std::stop_token stop);

}  // namespace pipeline
