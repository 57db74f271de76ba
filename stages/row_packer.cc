#include "stages/row_packer.h"

#include <algorithm>
#include <utility>

#include "base/str.h"
#include "text/utf8.h"

namespace pipeline {

RowPacker::RowPacker(const RowRules& rules, TakeRow row) : rules_(rules), take_(std::move(row)) {
  row_.reserve(std::size_t{rules_.seq_len} + 1);
  row_.push_back(rules_.eos_id);
}

Status RowPacker::Add(std::span<const std::uint32_t> ids, std::span<const std::uint32_t> ends,
                      std::string_view text, std::uint64_t document) {
  if (in_line_)
    RETURN_IF_ERROR(EndLine(document == document_ && rules_.newline_id ? *rules_.newline_id : rules_.eos_id));
  in_line_ = true;
  document_ = document;
  if (ids.size() != ends.size() || (!ends.empty() && ends.back() > text.size()) ||
      !std::is_sorted(ends.begin(), ends.end()))
    return Status(Code::kInternal, StrCat("packed rows: ", ids.size(), " ids with ", ends.size(),
                                          " ends do not fit a text of ", text.size(), " bytes"));
  std::size_t begin = 0;  // in the text
  for (std::size_t at = 0; at < ids.size();) {
    const std::size_t count = std::min(ids.size() - at, rules_.seq_len + std::size_t{1} - row_.size());
    const std::span<const std::uint32_t> part = ids.subspan(at, count);
    row_.insert(row_.end(), part.begin(), part.end());
    at += count;
    RETURN_IF_ERROR(Count(text.substr(begin, ends[at - 1] - begin)));
    begin = ends[at - 1];
    if (row_.size() > rules_.seq_len) RETURN_IF_ERROR(Emit());
  }
  return {};
}

Status RowPacker::Finish() {
  if (in_line_) RETURN_IF_ERROR(EndLine(rules_.eos_id));
  return row_.size() > 1 ? Emit() : Status();
}

/// The end of a line counts one byte and one character whatever stands for it.
Status RowPacker::EndLine(std::uint32_t id) {
  row_.push_back(id);
  RETURN_IF_ERROR(Count("\n"));
  return row_.size() > rules_.seq_len ? Emit() : Status();
}

Status RowPacker::Emit() {
  facts_.length = static_cast<std::uint32_t>(row_.size());
  const std::uint32_t last = row_.back();
  row_.resize(rules_.seq_len + std::size_t{1}, rules_.fill_id);
  RETURN_IF_ERROR(take_(row_, facts_));
  row_.assign(1, last);
  facts_ = {};
  return {};
}

Status RowPacker::Count(std::string_view text) {
  const std::uint64_t bytes = facts_.bytes + std::uint64_t{text.size()};
  if (bytes > UINT32_MAX)
    return Status(Code::kResourceExhausted,
                  "packed rows: the text of one row has 4 GiB; give a smaller `seq_len`");
  facts_.bytes = static_cast<std::uint32_t>(bytes);
  facts_.chars += static_cast<std::uint32_t>(
      std::count_if(text.begin(), text.end(), [](char byte) { return !IsUtf8Tail(byte); }));
  return {};
}

}  // namespace pipeline
