#include "stages/document_sink.h"

#include <optional>
#include <utility>

#include "base/str.h"

namespace pipeline {

namespace {

class DocumentSink final : public Sink {
 public:
  DocumentSink(std::unique_ptr<Sink> rows, DocumentRules rules)
      : sink_(std::move(rows)), rules_(std::move(rules)) {}

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
    return HandOn();
  }

  Result<PartitionOutput> Commit(const PartitionEnd& end, std::stop_token stop) override {
    RETURN_IF_ERROR(End());
    RETURN_IF_ERROR(HandOn());
    return sink_->Commit(end, std::move(stop));
  }

 private:
  /// Of the open document.
  Status End() {
    if (!head_) return {};
    rows_.heads.push_back(*head_);
    rows_.split.push_back(split_);
    RETURN_IF_ERROR(rules_.finish(joined_, rows_.payload.open_row()));
    rows_.payload.CloseRow();
    joined_.clear();
    head_.reset();
    return {};
  }

  Status HandOn() {
    if (rows_.heads.empty()) return {};
    RETURN_IF_ERROR(sink_->Write(rows_));
    rows_.Clear(0);
    return {};
  }

  const std::unique_ptr<Sink> sink_;
  const DocumentRules rules_;
  std::optional<RecordHead> head_;  // of the open document
  std::uint8_t split_ = 0;
  std::string joined_;
  Batch rows_;  // ended and not yet handed on
};

}  // namespace

std::unique_ptr<Sink> NewDocumentSink(std::unique_ptr<Sink> rows, DocumentRules rules) {
  return std::make_unique<DocumentSink>(std::move(rows), std::move(rules));
}

}  // namespace pipeline
