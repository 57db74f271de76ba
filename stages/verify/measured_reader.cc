#include "stages/verify/measured_reader.h"

#include <string>
#include <string_view>

#include "base/crc32c.h"

namespace pipeline {

Result<std::size_t> MeasuredReader::Read(std::span<char> out) {
  ASSIGN_OR_RETURN(const std::size_t got, input_->Read(out));
  const std::string_view bytes(out.data(), got);
  bytes_ += got;
  crc32c_ = Crc32c(bytes, crc32c_);
  hasher_.Update(bytes);
  return got;
}

Status MeasuredReader::Drain() {
  std::string buffer(256 << 10, '\0');
  while (true) {
    ASSIGN_OR_RETURN(const std::size_t got, Read(buffer));
    if (got == 0) return {};
  }
}

}  // namespace pipeline
