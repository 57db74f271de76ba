#include "formats/document_key.h"

#include <algorithm>

#include "base/digest.h"
#include "formats/row_finder.h"
#include "text/white_space.h"

namespace pipeline {

namespace {

constexpr std::size_t kKeyBytes = 1024;

}  // namespace

std::optional<std::uint64_t> DocumentKey::OfLines(std::string_view rest, bool finished,
                                                  const LineRules& rules, LineEnds ends) {
  const bool by_cr = ends == LineEnds::kCr;
  head_.clear();
  while (head_.size() < kKeyBytes) {
    const std::size_t separator = head_.empty() ? 0 : 1;
    const std::size_t wanted = kKeyBytes - head_.size() - separator;
    const std::string_view window = rest.substr(0, wanted + 2);  // two more show a line end as such
    const std::size_t end = by_cr ? window.find_first_of("\r\n") : window.find('\n');
    const bool complete = end != std::string_view::npos || window.size() < wanted + 2;
    if (complete && end == std::string_view::npos && !finished) return std::nullopt;
    std::string_view line = window.substr(0, end);
    if (complete && !by_cr) line = WithoutCr(line);
    if (line.empty()) break;
    if (rules.space_is_blank && complete && line.size() <= rules.max_record_bytes && IsBlankLine(line)) break;
    head_.append(separator, '\n').append(line.substr(0, wanted));
    if (!complete || rules.documents == Documents::kLine) break;
    if (by_cr && end + 1 == rest.size() && !finished) return std::nullopt;  // an LF may follow
    const bool crlf = by_cr && rest.substr(std::min(end, rest.size()), 2) == "\r\n";
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + (crlf ? 2 : 1));
  }
  return Hash64(head_);
}

std::uint64_t DocumentKey::OfRow(std::string_view row, LineEnds ends) {
  head_.clear();
  for (std::size_t at = 0; at < row.size() && head_.size() < kKeyBytes; ++at)
    if (row.substr(at, 2) != "\r\n") head_ += row[at] == '\r' && ends == LineEnds::kCr ? '\n' : row[at];
  return Hash64(head_);
}

}  // namespace pipeline
