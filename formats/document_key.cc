#include "formats/document_key.h"

#include "base/digest.h"
#include "formats/row_finder.h"

namespace pipeline {

namespace {

constexpr std::size_t kKeyBytes = 1024;

}  // namespace

std::optional<std::uint64_t> DocumentKey::OfLines(std::string_view rest, bool finished, Documents documents) {
  head_.clear();
  while (head_.size() < kKeyBytes) {
    const std::size_t separator = head_.empty() ? 0 : 1;
    const std::size_t wanted = kKeyBytes - head_.size() - separator;
    const std::string_view window = rest.substr(0, wanted + 2);  // two more show a line end as such
    const std::size_t end = window.find('\n');
    const bool complete = end != std::string_view::npos || window.size() < wanted + 2;
    if (complete && end == std::string_view::npos && !finished) return std::nullopt;
    const std::string_view line = complete ? WithoutCr(window.substr(0, end)) : window;
    if (line.empty()) break;
    head_.append(separator, '\n').append(line.substr(0, wanted));
    if (!complete || documents == Documents::kLine) break;
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return Hash64(head_);
}

std::uint64_t DocumentKey::OfRow(std::string_view row) {
  head_.clear();
  for (std::size_t at = 0; at < row.size() && head_.size() < kKeyBytes; ++at)
    if (row.substr(at, 2) != "\r\n") head_ += row[at];
  return Hash64(head_);
}

}  // namespace pipeline
