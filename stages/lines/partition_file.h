// Partition files, which one segment writes and another reads.
#pragma once

#include <cstddef>
#include <memory>
#include <stop_token>

#include "base/byte_reader.h"
#include "base/digest.h"
#include "dag/records/intermediate.h"

namespace pipeline {

/// The format of formats/partition_file.md: one object IIII-PPPPP.part per partition.
class PartitionFileFormat : public IntermediateFormat {
 public:
  Result<std::unique_ptr<SinkStage>> NewSink(const Schema& schema) const override;
  Result<std::unique_ptr<Source>> Open(Store& artifact, const PartitionOutput& output, const Schema& schema,
                                       std::size_t batch_bytes, std::stop_token stop) const override;
};

/// Reads the records of `file`, the partition `id`; its rows must have the digest `expected`. End() of the
/// Source is absent, because one partition knows nothing about its whole input.
Result<std::unique_ptr<Source>> OpenPartitionFile(std::shared_ptr<const ByteFile> file, PartitionId id,
                                                  const Schema& schema, std::size_t batch_bytes,
                                                  std::stop_token stop, const Digest& expected);

}  // namespace pipeline
