#include "stages/export/packed/row_packer.h"

#include <algorithm>
#include <utility>

#include "base/str.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

class StreamPacker final : public RowPacker {
 public:
  StreamPacker(const RowRules& rules, TakeRow row, std::unique_ptr<TargetWeights> weights)
      : RowPacker(std::move(weights)), rules_(rules), take_(std::move(row)) {
    row_.reserve(std::size_t{rules_.seq_len} + 1);
    Begin(rules_.eos_id);
  }

 private:
  std::size_t Room() const override { return rules_.seq_len + std::size_t{1} - row_.size(); }

  Status Take(std::span<const std::uint32_t> ids, std::string_view text, bool scored) override {
    BeginSegment();
    row_.insert(row_.end(), ids.begin(), ids.end());
    if (has_weights()) row_weights_.insert(row_weights_.end(), ids.size(), scored ? 1 : 0);
    if (scored) RETURN_IF_ERROR(CountText(text, facts_));
    return row_.size() > rules_.seq_len ? Emit() : Status();
  }

  Status GiveRest() override { return row_.size() > 1 ? Emit() : Status(); }

  void BeginSegment() {
    if (!between_documents_) return;
    segments_.push_back(static_cast<std::uint32_t>(row_.size()));
    between_documents_ = false;
  }

  /// The end of a line counts as one byte and one character, whichever id encodes it.
  Status EndLine(bool of_document, bool scored) override {
    BeginSegment();
    row_.push_back(of_document ? rules_.eos_id : rules_.newline_id.value_or(rules_.eos_id));
    between_documents_ = of_document;
    if (has_weights()) row_weights_.push_back(scored ? 1 : 0);
    if (scored) RETURN_IF_ERROR(CountText("\n", facts_));
    return row_.size() > rules_.seq_len ? Emit() : Status();
  }

  Status Emit() {
    facts_.length = static_cast<std::uint32_t>(row_.size());
    const std::uint32_t last = row_.back();
    row_.resize(rules_.seq_len + std::size_t{1}, rules_.fill_id);
    if (has_weights()) row_weights_.resize(row_.size());
    RETURN_IF_ERROR(take_(row_, facts_, segments_, row_weights_));
    segments_.clear();
    facts_ = {};
    Begin(last);
    return {};
  }

  /// Begins a row with this id, which is context.
  void Begin(std::uint32_t context) {
    row_.assign(1, context);
    if (has_weights()) row_weights_.assign(1, 0);
  }

  const RowRules rules_;
  const TakeRow take_;
  std::vector<std::uint32_t> row_;          // the ids of the open row; never full between calls
  std::vector<std::uint32_t> segments_;     // of the open row
  std::vector<std::uint32_t> row_weights_;  // of its ids; empty: rows have none
  PackedRowFacts facts_;                    // bytes and chars of the open row
  bool between_documents_ = true;           // the next id is the first of a document
};

/// Returns kInternal if ids, ends and text do not belong together.
Status CheckLine(std::span<const std::uint32_t> ids, std::span<const std::uint32_t> ends,
                 std::string_view text) {
  if (ids.size() == ends.size() && (ends.empty() || ends.back() <= text.size()) &&
      std::is_sorted(ends.begin(), ends.end()))
    return {};
  return Status(Code::kInternal, StrCat("packed rows: ", ids.size(), " ids with ", ends.size(),
                                        " ends do not fit a text of ", text.size(), " bytes"));
}

}  // namespace

Status RowPacker::Add(std::span<const std::uint32_t> ids, std::span<const std::uint32_t> ends,
                      std::string_view text, std::uint64_t document) {
  if (in_line_) RETURN_IF_ERROR(Close(document != document_));
  in_line_ = true;
  document_ = document;
  RETURN_IF_ERROR(CheckLine(ids, ends, text));
  of_line_.clear();
  if (weights_) weights_->Weigh(ids, of_line_);
  if (weights_ && of_line_.size() != ids.size())
    return Status(Code::kInternal,
                  StrCat("packed rows: ", of_line_.size(), " weights for ", ids.size(), " ids"));
  std::size_t begin = 0;  // in the text
  for (std::size_t at = 0; at < ids.size();) {
    const std::size_t count = CountAlike(at, at + std::min(ids.size() - at, Room()));
    const std::size_t end = ends[at + count - 1];
    RETURN_IF_ERROR(Take(ids.subspan(at, count), text.substr(begin, end - begin), !weights_ || of_line_[at]));
    at += count;
    begin = end;
  }
  return {};
}

Status RowPacker::Finish() {
  if (in_line_) RETURN_IF_ERROR(Close(true));
  return GiveRest();
}

Status RowPacker::Close(bool of_document) {
  if (!weights_) return EndLine(of_document, true);
  const bool scored = weights_->WeighEnd(of_document);
  scored_ += scored ? 1 : 0;
  if (of_document && std::exchange(scored_before_, scored_) == scored_) ++unscored_documents_;
  return EndLine(of_document, scored);
}

std::size_t RowPacker::CountAlike(std::size_t at, std::size_t end) {
  if (!weights_) return end - at;
  std::size_t count = 1;
  while (at + count < end && of_line_[at + count] == of_line_[at]) ++count;
  if (of_line_[at]) scored_ += count;
  return count;
}

std::unique_ptr<RowPacker> NewStreamPacker(const RowRules& rules, TakeRow row,
                                           std::unique_ptr<TargetWeights> weights) {
  return std::make_unique<StreamPacker>(rules, std::move(row), std::move(weights));
}

Status CountText(std::string_view text, PackedRowFacts& facts) {
  const std::uint64_t bytes = facts.bytes + std::uint64_t{text.size()};
  if (bytes > UINT32_MAX)
    return Status(Code::kResourceExhausted,
                  "packed rows: the text of one row has 4 GiB; give a smaller `seq_len`");
  facts.bytes = static_cast<std::uint32_t>(bytes);
  facts.chars += static_cast<std::uint32_t>(
      std::count_if(text.begin(), text.end(), [](char byte) { return !IsUtf8Tail(byte); }));
  return {};
}

}  // namespace pipeline
