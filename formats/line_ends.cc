#include "formats/line_ends.h"

#include <span>

namespace pipeline {

std::optional<LineEnds> LineEndSearch::In(std::string_view front, bool finished) {
  front = front.substr(0, kLineEndBytes);
  if (front.find('\n', seen_) != std::string_view::npos) return LineEnds::kLf;
  has_cr_ = has_cr_ || front.find('\r', seen_) != std::string_view::npos;
  seen_ = front.size();
  if (!finished && seen_ < kLineEndBytes) return std::nullopt;
  return has_cr_ ? LineEnds::kCr : LineEnds::kLf;
}

Result<LineEnds> FindLineEnds(ByteReader& text, const std::stop_token& stop) {
  constexpr std::size_t kBlock = 64 << 10;
  LineEndSearch search;
  std::string front;
  for (bool finished = false;;) {
    if (const std::optional<LineEnds> ends = search.In(front, finished)) return *ends;
    if (stop.stop_requested()) return Status(Code::kCancelled, "stopped");
    const std::size_t had = front.size();
    front.resize(had + kBlock);
    ASSIGN_OR_RETURN(const std::size_t got, text.Read(std::span(front).subspan(had)));
    front.resize(had + got);
    finished = got == 0;
  }
}

std::string WithLfEnds(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at)
    if (text.substr(at, 2) != "\r\n") out += text[at] == '\r' ? '\n' : text[at];
  return out;
}

}  // namespace pipeline
