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

BarrierSource::BarrierSource(std::unique_ptr<RecordStream> stream, std::uint64_t partition_bytes,
                             std::function<bool(std::uint32_t)> wanted, std::size_t batch_bytes)
    : stream_(std::move(stream)),
      partition_bytes_(partition_bytes),
      wanted_(std::move(wanted)),
      batch_bytes_(batch_bytes) {}

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
  return InputEnd{partition_, text_bytes_, documents_, stream_->Outside()};
}

Result<bool> BarrierSource::FindRecord() {
  if (held_) return true;
  ASSIGN_OR_RETURN(held_, stream_->Next());
  return held_;
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
  const Batch& from = stream_->batch();
  const std::size_t bytes = from.text[stream_->row()].size();
  const bool wanted = wanted_(partition_);
  if (wanted && batch.size() > 0 && batch.text.bytes() + batch.size() + bytes >= batch_bytes_) {
    Count(batch);
    return false;
  }
  if (NewDocument()) ++documents_;
  document_ = stream_->document();
  if (wanted) {
    batch.AppendRow(from, stream_->row());
    RecordHead& head = batch.heads.back();
    head.index = records_;
    head.sub = 0;
    head.document = *document_;
  }
  ++records_;
  bytes_ += bytes;
  text_bytes_ += bytes;
  held_ = false;
  return true;
}

}  // namespace pipeline
