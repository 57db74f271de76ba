#include "storage/object_name.h"

#include <algorithm>

#include "base/str.h"

namespace pipeline {

namespace {

Status BadName(std::string_view name, std::string_view why) {
  const std::string_view shown = name.substr(0, 80);
  return Status(Code::kInvalidArgument,
                StrCat("object name '", shown, shown.size() < name.size() ? "…" : "", "': ", why));
}

}  // namespace

Status CheckObjectName(std::string_view name) {
  if (name.empty()) return BadName(name, "empty");
  if (name.size() > kMaxNameBytes) return BadName(name, StrCat("longer than ", kMaxNameBytes, " bytes"));
  if (name.front() == '/') return BadName(name, "must be relative, and begins with '/'");
  if (name.find('\0') != std::string_view::npos) return BadName(name, "contains a NUL");
  std::size_t begin = 0;
  while (begin <= name.size()) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (part.empty()) return BadName(name, "has an empty part");
    if (part == "." || part == "..") return BadName(name, StrCat("has a part '", part, "'"));
    begin = end + 1;
  }
  return {};
}

}  // namespace pipeline
