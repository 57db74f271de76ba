// Format of records between two segments. The executor receives one format and depends on none.
#pragma once

#include <cstddef>
#include <memory>
#include <stop_token>

#include "dag/records/partition_output.h"
#include "dag/records/schema.h"
#include "dag/records/sink.h"
#include "dag/records/source.h"

namespace pipeline {

/// Immutable; safe from any thread. It must outlive the objects that it opens.
class IntermediateFormat {
 public:
  virtual ~IntermediateFormat() = default;
  /// Returns the Sink of a segment with records of `schema` that are read again.
  virtual Result<std::unique_ptr<SinkStage>> NewSink(const Schema& schema) const = 0;
  /// Returns the Source of a segment that reads one partition: its records as they were written, heads and
  /// columns, in batches of about `batch_bytes`. If the partition output is missing, or its length, digest
  /// or schema is not the expected one, the error is one for which DamagedOutput
  /// (dag/records/partition_output.h) names it. The digest is known at the end: its error comes in place of
  /// the batch that `closes`.
  virtual Result<std::unique_ptr<Source>> Open(Store& artifact, const PartitionOutput& output,
                                               const Schema& schema, std::size_t batch_bytes,
                                               std::stop_token stop) const = 0;
};

}  // namespace pipeline
