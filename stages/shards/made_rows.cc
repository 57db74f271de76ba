#include "stages/shards/made_rows.h"

#include <optional>
#include <utility>

#include "base/str.h"

namespace pipeline {

namespace {

class DocumentSink final : public Sink {
 public:
  DocumentSink(std::unique_ptr<Sink> rows, DocumentRules rules)
      : rows_(std::move(rows)), rules_(std::move(rules)) {}

  Status Write(const Batch& batch) override {
    if (batch.payload.size() != batch.size() || (!batch.split.empty() && batch.split.size() != batch.size()))
      return Status(Code::kInternal, StrCat("documents: ", batch.payload.size(), " payloads and ",
                                            batch.split.size(), " splits for ", batch.size(), " records"));
    for (std::size_t row = 0; row < batch.size(); ++row) {
      const RecordHead& head = batch.heads[row];
      const std::uint8_t split = batch.split.empty() ? std::uint8_t{0} : batch.split[row];
      if (head_ && head_->document == head.document && split_ == split) {
        joined_ += rules_.between;
      } else {
        RETURN_IF_ERROR(End());
        head_ = head;
        split_ = split;
      }
      joined_ += batch.payload[row];
    }
    return {};
  }

  Result<CommittedPartition> Commit(const PartitionEnd& end, std::stop_token stop) override {
    RETURN_IF_ERROR(End());
    return rows_.Commit(end, std::move(stop));
  }

 private:
  /// Ends the open document, if there is one.
  Status End() {
    if (!head_) return {};
    RETURN_IF_ERROR(rules_.finish(joined_, rows_.open_row()));
    RETURN_IF_ERROR(rows_.Close(*head_, split_));
    joined_.clear();
    head_.reset();
    return {};
  }

  MadeRows rows_;
  const DocumentRules rules_;
  std::optional<RecordHead> head_;  // of the open document
  std::uint8_t split_ = 0;
  std::string joined_;
};

}  // namespace

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

std::unique_ptr<Sink> NewDocumentSink(std::unique_ptr<Sink> rows, DocumentRules rules) {
  return std::make_unique<DocumentSink>(std::move(rows), std::move(rules));
}

}  // namespace pipeline
