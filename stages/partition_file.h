// Partition files as the end of one segment and the beginning of another.
#pragma once

#include <cstddef>
#include <memory>
#include <stop_token>

#include "base/byte_reader.h"
#include "base/digest.h"
#include "records/intermediate.h"

namespace pipeline {

/// formats/partition_file.md, one object IIII-PPPPP.part for each partition.
class PartitionFileFormat : public IntermediateFormat {
 public:
  Result<std::unique_ptr<SinkStage>> NewSink(const Schema& schema) const override;
  Result<std::unique_ptr<Source>> Open(Store& artifact, const Piece& piece, const Schema& schema,
                                       std::size_t batch_bytes, std::stop_token stop) const override;
};

/// Yields the records of `file`, the partition `id`, whose rows must have the digest `expected`.
/// End() of the Source is absent: one partition knows nothing of its whole input.
Result<std::unique_ptr<Source>> OpenPartitionFile(std::shared_ptr<const ByteFile> file, PartitionId id,
                                                  const Schema& schema, std::size_t batch_bytes,
                                                  std::stop_token stop, const Digest& expected);

}  // namespace pipeline
