#include "stages/export/packed/row_packer.h"

#include <algorithm>
#include <utility>

#include "base/str.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

class StreamPacker final : public RowPacker {
 public:
  StreamPacker(const RowRules& rules, TakeRow row) : rules_(rules), take_(std::move(row)) {
    row_.reserve(std::size_t{rules_.seq_len} + 1);
    row_.push_back(rules_.eos_id);
  }

 private:
  std::size_t Room() const override { return rules_.seq_len + std::size_t{1} - row_.size(); }

  Status Take(std::span<const std::uint32_t> ids, std::string_view text) override {
    BeginSegment();
    row_.insert(row_.end(), ids.begin(), ids.end());
    RETURN_IF_ERROR(CountText(text, facts_));
    return row_.size() > rules_.seq_len ? Emit() : Status();
  }

  Status GiveRest() override { return row_.size() > 1 ? Emit() : Status(); }

  void BeginSegment() {
    if (!between_documents_) return;
    segments_.push_back(static_cast<std::uint32_t>(row_.size()));
    between_documents_ = false;
  }

  /// The end of a line counts as one byte and one character, whichever id encodes it.
  Status EndLine(bool of_document) override {
    BeginSegment();
    row_.push_back(of_document ? rules_.eos_id : rules_.newline_id.value_or(rules_.eos_id));
    between_documents_ = of_document;
    RETURN_IF_ERROR(CountText("\n", facts_));
    return row_.size() > rules_.seq_len ? Emit() : Status();
  }

  Status Emit() {
    facts_.length = static_cast<std::uint32_t>(row_.size());
    const std::uint32_t last = row_.back();
    row_.resize(rules_.seq_len + std::size_t{1}, rules_.fill_id);
    RETURN_IF_ERROR(take_(row_, facts_, segments_));
    row_.assign(1, last);
    segments_.clear();
    facts_ = {};
    return {};
  }

  const RowRules rules_;
  const TakeRow take_;
  std::vector<std::uint32_t> row_;       // the ids of the open row; never full between calls
  std::vector<std::uint32_t> segments_;  // of the open row
  PackedRowFacts facts_;                 // bytes and chars of the open row
  bool between_documents_ = true;        // the next id is the first of a document
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
  if (in_line_) RETURN_IF_ERROR(EndLine(document != document_));
  in_line_ = true;
  document_ = document;
  RETURN_IF_ERROR(CheckLine(ids, ends, text));
  std::size_t begin = 0;  // in the text
  for (std::size_t at = 0; at < ids.size();) {
    const std::size_t count = std::min(ids.size() - at, Room());
    const std::size_t end = ends[at + count - 1];
    RETURN_IF_ERROR(Take(ids.subspan(at, count), text.substr(begin, end - begin)));
    at += count;
    begin = end;
  }
  return {};
}

Status RowPacker::Finish() {
  if (in_line_) RETURN_IF_ERROR(EndLine(true));
  return GiveRest();
}

std::unique_ptr<RowPacker> NewStreamPacker(const RowRules& rules, TakeRow row) {
  return std::make_unique<StreamPacker>(rules, std::move(row));
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
