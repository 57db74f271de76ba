// Divides the records of many partition outputs into new partitions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "dag/records/barrier_stage.h"
#include "dag/records/batch.h"
#include "dag/records/source.h"

namespace pipeline {

/// Bytes of text in a batch that is read from a partition output.
inline constexpr std::size_t kBarrierReadBytes = 256 << 10;

/// A Source of input 0 whose partitions end at a document's end once they hold `partition_bytes` of text.
/// Borders and records depend only on what the derived class reads; unwanted partitions are skipped. One
/// thread at a time.
class BarrierSource : public Source {
 public:
  /// Takes `wanted` and `batch_bytes` of the request.
  BarrierSource(std::uint64_t partition_bytes, const BarrierRequest& request);
  Result<bool> Next(Batch& batch) final;
  std::optional<InputEnd> End() const final;

 private:
  /// Opens the partition output that is read next; null: none is left.
  virtual Result<std::unique_ptr<Source>> OpenNext() = 0;
  /// Reads the next batch of `output`, the last one that was opened; false: it has no more.
  virtual Result<bool> Read(Source& output, Batch& batch) = 0;
  /// Called once for each record. Returns its document, a number that increases from document to document;
  /// absent: the record is left out.
  virtual std::optional<std::uint64_t> DocumentOf(const Batch& batch, std::size_t row) = 0;
  /// Counts for the end of the input: the reasons of records that were left out.
  virtual StageCounts Outside() const = 0;

  Result<bool> FindRecord();
  bool NewDocument() const { return next_document_ != document_; }
  bool Close(Batch& batch);
  bool Take(Batch& batch);

  const std::uint64_t partition_bytes_;
  const std::function<bool(std::uint32_t)> wanted_;
  const std::size_t batch_bytes_;
  std::unique_ptr<Source> output_;  // null between two partition outputs
  Batch read_;                      // of output_
  std::size_t row_ = 0;             // of read_
  // The document of the record at row_. If absent: the record was taken, or was not looked at yet.
  std::optional<std::uint64_t> next_document_;
  std::optional<std::uint64_t> document_;  // of the last record taken
  std::uint32_t partition_ = 0;
  std::uint64_t records_ = 0;  // of the partition
  std::uint64_t bytes_ = 0;    // of its text
  std::uint64_t documents_ = 0;
  std::uint64_t text_bytes_ = 0;
  bool ended_ = false;
};

}  // namespace pipeline
