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
    const std::size_t end = scanned_;
    if (window[end] == '\r' && end + 1 == rest.size() && !finished) return false;  // an LF may follow
    const bool crlf = window[end] == '\r' && rest.substr(end + 1, 1) == "\n";
    if (ends_ == LineEnds::kCr)
      row.end = crlf ? FoundRow::End::kCrLf : window[end] == '\r' ? FoundRow::End::kCr : FoundRow::End::kLf;
    row.size = end + (crlf ? 2 : 1);
    row.content = window.substr(0, end);
  } else {
    if (is_full) return true;
    if (!finished) return false;
    row.size = window.size();
    row.content = window;
  }
  if (ends_ == LineEnds::kLf && row.content.ends_with('\r')) {
    row.end = FoundRow::End::kCrLf;
    row.content = WithoutCr(row.content);
  }
  row.fits = row.content.size() <= max_record_bytes_;
  return true;
}

// Like ScanFields, it returns true if the row ends at scanned_, which is an LF or CR.
bool RowFinder::ScanLine(std::string_view window) {
  scanned_ = std::min(FindLineEnd(window, scanned_), window.size());
  return scanned_ < window.size();
}

std::size_t RowFinder::FindLineEnd(std::string_view window, std::size_t at) const {
  return ends_ == LineEnds::kLf ? window.find('\n', at) : window.find_first_of("\r\n", at);
}

bool RowFinder::ScanFields(std::string_view window) {
  std::size_t& at = scanned_;
  for (; at < window.size(); ++at) {
    if (field_ == Field::kQuoted) {
      const std::size_t quote = std::min(window.find('"', at), window.size());
      if (line_end_ == kNone) line_end_ = FindLineEnd(window.substr(0, quote), at);
      at = quote;
      if (at == window.size()) break;
      field_ = Field::kQuoteEnds;
      continue;
    }
    const char byte = window[at];
    if (EndsLine(byte)) return true;
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
