// Records that a stage took from many partitions, cut into partitions of their own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "records/batch.h"
#include "records/source.h"

namespace pipeline {

/// Records one by one, in an order that is always the same. One thread at a time.
class RecordStream {
 public:
  virtual ~RecordStream() = default;
  /// Goes on to the next record, at first to the first; false when there is none left.
  virtual Result<bool> Next() = 0;
  /// Where the record lies; valid after Next said that there is one.
  virtual const Batch& batch() const = 0;
  virtual std::size_t row() const = 0;
  /// Rises from document to document.
  virtual std::uint64_t document() const = 0;
  /// What is told of the whole at the end: reasons of what did not come.
  virtual StageCounts Outside() const = 0;
};

/// Input 0, whose partitions close at the end of a document once they hold `partition_bytes` of text. Their
/// borders and records depend on the stream alone; those that are not `wanted` are passed over.
class GatheredSource final : public Source {
 public:
  GatheredSource(std::unique_ptr<RecordStream> stream, std::uint64_t partition_bytes,
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
  bool held_ = false;                      // the stream stands at a record that is not taken
  std::optional<std::uint64_t> document_;  // of the last record that was
  std::uint32_t partition_ = 0;
  std::uint64_t records_ = 0;  // of the partition
  std::uint64_t bytes_ = 0;    // of its text
  std::uint64_t documents_ = 0;
  std::uint64_t text_bytes_ = 0;
  bool ended_ = false;
};

}  // namespace pipeline
