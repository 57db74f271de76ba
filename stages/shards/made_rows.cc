#include "stages/shards/made_rows.h"

#include <utility>

namespace pipeline {

Status MadeRows::Close(const RecordHead& head, std::uint8_t split) {
  rows_.heads.push_back(head);
  rows_.split.push_back(split);
  rows_.payload.CloseRow();
  return rows_.payload.bytes() < kMadeRowsBytes ? Status() : HandOn();
}

Result<CommittedPartition> MadeRows::Commit(const PartitionEnd& end, std::stop_token stop) {
  if (!rows_.heads.empty()) RETURN_IF_ERROR(HandOn());
  return sink_->Commit(end, std::move(stop));
}

Status MadeRows::HandOn() {
  RETURN_IF_ERROR(sink_->Write(rows_));
  rows_.Clear(0);
  return {};
}

}  // namespace pipeline
