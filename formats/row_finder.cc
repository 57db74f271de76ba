#include "formats/row_finder.h"

#include <algorithm>

namespace pipeline {

std::string_view WithoutCr(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool RowFinder::Find(std::string_view rest, bool finished, FoundRow& row) {
  const std::string_view window = rest.substr(0, max_record_bytes_ + 2);  // two more for CR LF
  const std::size_t end = FindEnd(window);
  row = {};
  if (end != std::string_view::npos) {
    if (window[end] == '\r' && end + 1 == rest.size() && !finished) return false;  // an LF may follow
    const bool crlf = window[end] == '\r' && rest.substr(end + 1, 1) == "\n";
    if (ends_ == LineEnds::kCr)
      row.end = crlf ? FoundRow::End::kCrLf : window[end] == '\r' ? FoundRow::End::kCr : FoundRow::End::kLf;
    row.size = end + (crlf ? 2 : 1);
    row.content = window.substr(0, end);
  } else {
    if (window.size() == max_record_bytes_ + 2) return true;
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

// Returns the position of the LF, or CR, that ends the row; npos if `window` has none.
std::size_t RowFinder::FindEnd(std::string_view window) {
  std::size_t at = scanned_;
  if (!quoted()) {
    at = ends_ == LineEnds::kLf ? window.find('\n', at) : window.find_first_of("\r\n", at);
    at = std::min(at, window.size());
  } else {
    for (; at < window.size(); ++at) {
      if (field_ == Field::kQuoted) {
        at = std::min(window.find('"', at), window.size());
        if (at == window.size()) break;
        field_ = Field::kQuoteEnds;
        continue;
      }
      const char byte = window[at];
      if (EndsLine(byte)) break;
      if (byte == '"' && field_ != Field::kPlain)
        field_ = Field::kQuoted;
      else
        field_ = byte == quoted_delimiter_ ? Field::kBegins : Field::kPlain;
    }
  }
  scanned_ = at;
  return at < window.size() ? at : std::string_view::npos;
}

}  // namespace pipeline
