// Rows that a Sink makes of what it is given, on their way to the Sink that files them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "records/batch.h"
#include "records/sink.h"

namespace pipeline {

/// What a MadeRows holds, beside one row: where its batches end depends on the rows alone.
inline constexpr std::size_t kMadeRowsBytes = 256 << 10;

/// One thread at a time.
class MadeRows {
 public:
  explicit MadeRows(std::unique_ptr<Sink> sink) : sink_(std::move(sink)) {}

  /// Where the payload of the next row is appended; Close ends it.
  std::string& open_row() { return rows_.payload.open_row(); }
  Status Close(const RecordHead& head, std::uint8_t split);
  /// Sink::Commit, after the last row.
  Result<PartitionOutput> Commit(const PartitionEnd& end, std::stop_token stop);

 private:
  Status HandOn();

  const std::unique_ptr<Sink> sink_;
  Batch rows_;  // closed and not yet handed on
};

}  // namespace pipeline
