// Reads one generation of an object, with as many requests as needed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "storage/remote/gcs/gcs_client.h"
#include "storage/remote/gcs/gcs_object.h"
#include "storage/remote/http/ranged_file.h"

namespace pipeline {

/// Immutable. Readers resume a broken transfer, and fail with kDataLoss if the generation no longer exists.
/// A reader of a whole object compares the CRC-32C before it returns the last bytes: kUnavailable with
/// DamagedOnTheWay if it differs, because reading again helps.
class GcsFile final : public RangedFile {
 public:
  GcsFile(std::shared_ptr<GcsClient> client, std::string bucket, GcsObject object)
      : client_(std::move(client)), bucket_(std::move(bucket)), object_(std::move(object)) {}

  std::uint64_t size() const override { return object_.size; }
  Result<std::unique_ptr<ByteReader>> OpenRange(std::uint64_t begin, std::uint64_t end,
                                                std::stop_token stop) const override;

  const std::shared_ptr<GcsClient>& client() const { return client_; }
  const std::string& bucket() const { return bucket_; }
  const GcsObject& object() const { return object_; }

 private:
  const std::shared_ptr<GcsClient> client_;
  const std::string bucket_;
  const GcsObject object_;
};

}  // namespace pipeline
