// Buffers rows that a Sink generates, and forwards them in batches to the Sink that stores them. One such
// Sink joins the records of a document into one row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "dag/records/batch.h"
#include "dag/records/sink.h"

namespace pipeline {

/// Bytes that a MadeRows holds, beside one row. A constant, so that the ends of its batches depend on the
/// rows alone.
inline constexpr std::size_t kMadeRowsBytes = 256 << 10;

/// One thread at a time.
class MadeRows {
 public:
  explicit MadeRows(std::unique_ptr<Sink> sink) : sink_(std::move(sink)) {}

  /// The caller appends the payload of the next row here; Close ends the row.
  std::string& open_row() { return rows_.payload.open_row(); }
  Status Close(const RecordHead& head, std::uint8_t split);
  /// Calls Sink::Commit; comes after the last row.
  Result<CommittedPartition> Commit(const PartitionEnd& end, std::stop_token stop);

 private:
  Status HandOn();

  const std::unique_ptr<Sink> sink_;
  Batch rows_;  // closed and not yet forwarded
};

struct DocumentRules {
  std::string between;  // separates the payloads of two records of a document
  /// Appends the payload of a document to `row`; `joined`: its records' payloads, separated by `between`.
  std::function<Status(std::string_view joined, std::string& row)> finish;
};

/// Takes the batches of one partition and gives `rows` one record per document, with the head and split of
/// its first record and only a payload. Holds one document in memory.
std::unique_ptr<Sink> NewDocumentSink(std::unique_ptr<Sink> rows, DocumentRules rules);

}  // namespace pipeline
