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

class GcsStore final : public Store {
 public:
  /// `prefix`: no slash at its end; may be empty. `client` is shared with all users of the account, and
  /// kept by files and writers.
  GcsStore(std::shared_ptr<GcsClient> client, std::string bucket, std::string_view prefix,
           GcsWriterOptions options);

  Result<std::unique_ptr<ByteFile>> Open(std::string_view name) override;
  /// Sends no request.
  Result<std::unique_ptr<ByteFile>> OpenKnown(const ObjectInfo& known) override;
  Result<std::unique_ptr<ObjectWriter>> Create(std::string_view name, Condition condition) override;
  Result<std::optional<ObjectInfo>> Stat(std::string_view name) override;
  Result<std::vector<ObjectInfo>> List(std::string_view prefix) override;
  Status Remove(std::string_view name) override;
  /// In groups of up to kMostInGcsBatch: `removed` is called for all of a group after all of it.
  Status RemoveAll(std::span<const ObjectInfo> objects, const std::function<bool()>& removed) override;
  /// Also removes spool files that dead writers of this machine left, and their open upload sessions.
  Status Sweep(std::string_view prefix) override;

 private:
  Result<GcsLocation> LocationOf(std::string_view name) const;

  const std::shared_ptr<GcsClient> client_;
  const std::string bucket_;
  const std::string prefix_;                   // empty, or ends with a slash
  const std::shared_ptr<GcsSpooler> spooler_;  // shared with the writers, which may outlive the store
};

}  // namespace pipeline
