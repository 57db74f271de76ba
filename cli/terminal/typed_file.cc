#include "cli/terminal/typed_file.h"

#include <cstdint>
#include <memory>

#include "base/str.h"
#include "storage/local_file.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kLargestTypedFile = 16 << 20;

}  // namespace

Result<std::string> ReadTypedFile(const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<LocalFile> file, LocalFile::Open(path));
  if (file->size() > kLargestTypedFile)
    return Status(Code::kInvalidArgument, StrCat(path, ": is ", HumanBytes(file->size()),
                                                 ", too large for a file that a person writes"));
  std::string text(file->size(), '\0');
  if (text.empty()) return text;
  const ByteFile& bytes = *file;
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader, bytes.Open(0, {}));
  RETURN_IF_ERROR(ReadExactly(*reader, text));
  return text;
}

}  // namespace pipeline
