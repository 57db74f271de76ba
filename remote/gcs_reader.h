// One generation of an object of a bucket, read over as many requests as it takes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "remote/gcs_client.h"
#include "remote/gcs_object.h"
#include "remote/ranged_file.h"

namespace pipeline {

/// Immutable. Readers go on where a transfer broke off, and fail with kDataLoss once the generation is gone.
/// One that read everything compares the CRC-32C: kUnavailable where it differs, since reading anew may help.
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
