#include "storage/remote/http/compared_bytes.h"

#include <memory>
#include <span>

#include "base/str.h"

namespace pipeline {

Status HasOtherBytes(std::string_view name, std::uint64_t at) {
  return Status(Code::kDataLoss,
                StrCat(name, ": changed, although its server names the same version: the bytes before byte ",
                       at, " are not those that it sent before"))
      .With(std::make_shared<OtherBytes>());
}

Status CompareBytes(ByteReader& reader, std::string_view earlier, std::string_view name, std::uint64_t at) {
  std::string now(earlier.size(), '\0');
  ASSIGN_OR_RETURN(const std::size_t filled, ReadFully(reader, now));
  return filled == now.size() && now == earlier ? Status() : HasOtherBytes(name, at);
}

void LastBytes::Add(std::string_view came) {
  if (came.size() >= kComparedBytes) {
    bytes_.assign(came.substr(came.size() - kComparedBytes));
    return;
  }
  if (bytes_.size() + came.size() > 2 * kComparedBytes) bytes_.erase(0, bytes_.size() - kComparedBytes);
  bytes_.append(came);
}

}  // namespace pipeline
