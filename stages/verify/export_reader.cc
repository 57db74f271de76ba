#include "stages/verify/export_reader.h"

#include "base/str.h"

namespace pipeline {

std::optional<std::string> ReadBeside(const OpenBeside& beside, std::string_view name) {
  const Result<std::unique_ptr<ByteFile>> file = beside(name);
  if (!file.ok() || *file == nullptr || (*file)->size() > kMaxDescriptionBytes) return std::nullopt;
  Result<std::string> bytes = ReadBytes(**file, 0, (*file)->size());
  return bytes.ok() ? std::optional(std::move(*bytes)) : std::nullopt;
}

Status NothingToCount(std::string_view what) {
  return Status(Code::kInvalidArgument, StrCat(what, " has no text to count; `pipe cat` shows its content"));
}

}  // namespace pipeline
