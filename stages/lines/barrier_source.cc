#include "stages/lines/barrier_source.h"

#include <utility>

namespace pipeline {

namespace {

void Count(Batch& batch) {
  StageCounts& counts = batch.counts[0];
  counts.records_in = counts.records_out = batch.size();
  counts.bytes_in = counts.bytes_out = batch.text.bytes();
}

}  // namespace

BarrierSource::BarrierSource(std::uint64_t partition_bytes, const BarrierRequest& request)
    : partition_bytes_(partition_bytes), wanted_(request.wanted), batch_bytes_(request.batch_bytes) {}

Result<bool> BarrierSource::Next(Batch& batch) {
  batch.partition = {0, partition_};
  while (true) {
    ASSIGN_OR_RETURN(const bool there, FindRecord());
    const bool border = !there || (bytes_ >= partition_bytes_ && NewDocument());
    if (border && records_ > 0) {
      const bool wanted = Close(batch);
      if (wanted) return true;
      continue;
    }
    if (!there) {
      ended_ = true;
      return false;
    }
    if (!Take(batch)) return true;
  }
}

std::optional<InputEnd> BarrierSource::End() const {
  if (!ended_) return std::nullopt;
  return InputEnd{partition_, text_bytes_, documents_, Outside()};
}

Result<bool> BarrierSource::FindRecord() {
  while (!next_document_) {
    if (row_ < read_.size()) {
      next_document_ = DocumentOf(read_, row_);
      if (!next_document_) ++row_;
      continue;
    }
    if (!output_) {
      ASSIGN_OR_RETURN(output_, OpenNext());
      if (!output_) return false;
    }
    read_.Clear(1);
    row_ = 0;
    ASSIGN_OR_RETURN(const bool more, Read(*output_, read_));
    if (!more) output_.reset();
  }
  return true;
}

/// Ends the partition with `batch`; false: the partition is not wanted.
bool BarrierSource::Close(Batch& batch) {
  const bool wanted = wanted_(partition_);
  if (wanted) {
    batch.closes = true;
    batch.end = {text_bytes_, *document_ + 1};
    Count(batch);
  }
  ++partition_;
  records_ = bytes_ = 0;
  if (!wanted) batch.partition = {0, partition_};
  return wanted;
}

/// Moves the record into `batch`; false: the batch is full, and the record stays.
bool BarrierSource::Take(Batch& batch) {
  const std::size_t bytes = read_.text[row_].size();
  const bool wanted = wanted_(partition_);
  if (wanted && batch.size() > 0 && batch.text.bytes() + batch.size() + bytes >= batch_bytes_) {
    Count(batch);
    return false;
  }
  if (NewDocument()) ++documents_;
  document_ = std::exchange(next_document_, std::nullopt);
  if (wanted) {
    batch.AppendRow(read_, row_);
    RecordHead& head = batch.heads.back();
    head.index = records_;
    head.sub = 0;
    head.document = *document_;
  }
  ++records_;
  bytes_ += bytes;
  text_bytes_ += bytes;
  ++row_;
  return true;
}

}  // namespace pipeline
