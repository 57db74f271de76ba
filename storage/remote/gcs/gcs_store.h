// The objects of a Google Cloud Storage bucket below a prefix. Guarantees beyond store.h:
// storage/remote/gcs/gcs.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/remote/gcs/gcs_client.h"
#include "storage/remote/gcs/gcs_writer.h"
#include "storage/store.h"

namespace pipeline {

/// Ends the sessions that dead writers of this machine left open, and removes their files from the spool.
Status EndLeftUploadsIn(GcsClient& client, GcsSpooler& spooler);

/// Returns the objects of `bucket` below `prefix`, which has no slash at its end and may be empty. `client`
/// is shared with all users of the account, and kept by files and writers. OpenKnown sends no request.
/// RemoveAll removes groups of up to kMostInGcsBatch: `removed` is called for all of a group after all of it.
/// Sweep also removes spool files that dead writers of this machine left, and their open upload sessions.
std::unique_ptr<Store> NewGcsStore(std::shared_ptr<GcsClient> client, std::string bucket,
                                   std::string_view prefix, GcsWriterOptions options);

}  // namespace pipeline
