// How records are kept between two segments. The executor is given one format and knows none.
#pragma once

#include <cstddef>
#include <memory>
#include <stop_token>

#include "records/piece.h"
#include "records/schema.h"
#include "records/sink.h"
#include "records/source.h"

namespace pipeline {

/// Immutable; safe from any thread. Outlives what it opens.
class IntermediateFormat {
 public:
  virtual ~IntermediateFormat() = default;
  /// What ends a segment whose records have the columns of `schema` and are read again.
  virtual Result<std::unique_ptr<SinkStage>> NewSink(const Schema& schema) const = 0;
  /// What begins a segment that reads one partition: its records as they were written, heads and
  /// columns, in batches of about `batch_bytes`. A piece that is missing, or has another length,
  /// digest or schema than promised, is an error for which DamagedPiece (records/piece.h) names it; a
  /// digest is known at the end, and its error comes in place of the batch that `closes`.
  virtual Result<std::unique_ptr<Source>> Open(Store& artifact, const Piece& piece, const Schema& schema,
                                               std::size_t batch_bytes, std::stop_token stop) const = 0;
};

}  // namespace pipeline
