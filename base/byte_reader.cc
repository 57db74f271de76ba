#include "base/byte_reader.h"

#include "base/str.h"

namespace pipeline {

Status ReadExactly(ByteReader& reader, std::span<char> out) {
  std::size_t filled = 0;
  while (filled < out.size()) {
    ASSIGN_OR_RETURN(const std::size_t got, reader.Read(out.subspan(filled)));
    if (got == 0)
      return Status(Code::kDataLoss, StrCat("ends ", out.size() - filled, " bytes too early: truncated"));
    filled += got;
  }
  return {};
}

}  // namespace pipeline
