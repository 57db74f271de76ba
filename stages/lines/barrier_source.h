// Divides a stream of records from many partitions into new partitions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "dag/records/batch.h"
#include "dag/records/source.h"

namespace pipeline {

/// Bytes of text in a batch that is read for such a stream.
inline constexpr std::size_t kBarrierReadBytes = 256 << 10;

/// Records one by one, always in the same order. One thread at a time.
class RecordStream {
 public:
  virtual ~RecordStream() = default;
  /// Moves to the next record, the first call to the first one; false: no record is left.
  virtual Result<bool> Next() = 0;
  /// The position of the record; valid after Next returned true.
  virtual const Batch& batch() const = 0;
  virtual std::size_t row() const = 0;
  /// Increases from document to document.
  virtual std::uint64_t document() const = 0;
  /// Counts for the end of the input: the reasons of records that were not given.
  virtual StageCounts Outside() const = 0;
};

/// A Source of input 0 whose partitions end at a document's end once they hold `partition_bytes` of text.
/// Borders and records depend only on the stream; unwanted partitions are skipped.
class BarrierSource final : public Source {
 public:
  BarrierSource(std::unique_ptr<RecordStream> stream, std::uint64_t partition_bytes,
                std::function<bool(std::uint32_t partition)> wanted, std::size_t batch_bytes);
  Result<bool> Next(Batch& batch) override;
  std::optional<InputEnd> End() const override;

 private:
  Result<bool> FindRecord();
  bool NewDocument() const { return !document_ || stream_->document() != *document_; }
  bool Close(Batch& batch);
  bool Take(Batch& batch);

  const std::unique_ptr<RecordStream> stream_;
  const std::uint64_t partition_bytes_;
  const std::function<bool(std::uint32_t)> wanted_;
  const std::size_t batch_bytes_;
  bool held_ = false;                      // the stream is at a record that was not taken yet
  std::optional<std::uint64_t> document_;  // of the last record taken
  std::uint32_t partition_ = 0;
  std::uint64_t records_ = 0;  // of the partition
  std::uint64_t bytes_ = 0;    // of its text
  std::uint64_t documents_ = 0;
  std::uint64_t text_bytes_ = 0;
  bool ended_ = false;
};

}  // namespace pipeline
