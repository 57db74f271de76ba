#include "plugins/train/model/clean_lines.h"

#include <algorithm>

#include "base/str.h"
#include "base/utf8.h"

namespace pipeline {

Status CleanLines::Wrong(std::uint64_t line, std::string_view why) const {
  return Status(Code::kInvalidArgument, StrCat(name_, ": line ", line, ": ", why, "; ", remedy_));
}

Result<std::string> CleanLines::Take(std::string_view bytes) {
  // A file without text may have no line end, either: the whole of it need not be held to see that.
  if (bytes.find('\0') < bytes.find('\n')) return Wrong(lines_ + 1, "has a NUL, and is no text of UTF-8");
  const std::size_t end = bytes.empty() ? 0 : bytes.rfind('\n') + 1;
  if (!bytes.empty() && end == 0) {
    held_ += bytes;
    return std::string();
  }
  std::string whole = std::move(held_);
  whole += bytes.substr(0, end);
  held_ = bytes.substr(end);
  if (lines_ == 0 && bytes.empty() && whole.find_first_not_of('\r', whole.find('\r')) != std::string::npos)
    return Wrong(1, "has CR and no LF, so that the whole text is one line");
  for (std::string_view rest = whole; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    ++lines_;
    if (line.find('\0') != std::string_view::npos) return Wrong(lines_, "has a NUL, and is no text of UTF-8");
    if (!IsUtf8(line)) return Wrong(lines_, "has bytes that are not UTF-8");
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
  return whole;
}

}  // namespace pipeline
