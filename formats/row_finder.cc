#include "formats/row_finder.h"

#include <algorithm>

namespace pipeline {

std::string_view WithoutCr(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool RowFinder::Find(std::string_view rest, bool finished, FoundRow& row) {
  const std::string_view window = rest.substr(0, max_record_bytes_ + 2);  // two more for CR LF
  const bool is_full = window.size() == max_record_bytes_ + 2;
  bool ends = false;
  if (quoted() && field_ != Field::kWrong) {
    ends = ScanFields(window);
    if (!ends && wrong_quotes_end_lines_ && (is_full || (finished && field_ == Field::kQuoted)))
      EndWithLine();
  }
  if (!quoted() || field_ == Field::kWrong) ends = ScanLine(window);
  row = {};
  if (ends) {
    row.size = scanned_ + 1;
    row.content = window.substr(0, scanned_);
  } else {
    if (is_full) return true;
    if (!finished) return false;
    row.size = window.size();
    row.content = window;
  }
  row.cr = row.content.ends_with('\r');
  row.content = WithoutCr(row.content);
  row.fits = row.content.size() <= max_record_bytes_;
  return true;
}

// Like ScanFields, it returns true if the row ends at scanned_, which is an LF.
bool RowFinder::ScanLine(std::string_view window) {
  scanned_ = std::min(window.find('\n', scanned_), window.size());
  return scanned_ < window.size();
}

bool RowFinder::ScanFields(std::string_view window) {
  std::size_t& at = scanned_;
  for (; at < window.size(); ++at) {
    if (field_ == Field::kQuoted) {
      const std::size_t quote = std::min(window.find('"', at), window.size());
      if (line_end_ == kNone) line_end_ = window.substr(0, quote).find('\n', at);
      at = quote;
      if (at == window.size()) break;
      field_ = Field::kQuoteEnds;
      continue;
    }
    const char byte = window[at];
    if (byte == '\n') return true;
    if (byte == '"' && field_ != Field::kPlain) {
      if (field_ == Field::kBegins) line_end_ = kNone;
      field_ = Field::kQuoted;
    } else if (byte == quoted_delimiter_) {
      field_ = Field::kBegins;
    } else if (wrong_quotes_end_lines_ && field_ == Field::kQuoteEnds) {
      if (byte == '\r' && at + 1 == window.size()) break;  // perhaps of a CR LF
      if (byte == '\r' && window[at + 1] == '\n') continue;
      EndWithLine();
      break;
    } else {
      field_ = Field::kPlain;
    }
  }
  return false;
}

void RowFinder::EndWithLine() {
  if ((field_ == Field::kQuoted || field_ == Field::kQuoteEnds) && line_end_ != kNone) scanned_ = line_end_;
  field_ = Field::kWrong;
}

}  // namespace pipeline
