#include "dag/location/holds_bytes.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/digest.h"

namespace pipeline {

namespace {
constexpr std::size_t kChunk = 1 << 20;
}  // namespace

Result<bool> HoldsBytes(Store& store, const StoredObject& object, std::stop_token stop) {
  ASSIGN_OR_RETURN(const std::optional<ObjectInfo> there, store.Stat(object.name));
  if (!there || !object.IsAt(*there)) return false;
  if (there->crc32c) return true;
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteFile> file, store.Open(object.name));
  const ByteFile& bytes = *file;
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader, bytes.Open(0, std::move(stop)));
  Hasher hasher;
  std::string chunk(kChunk, '\0');
  for (;;) {
    ASSIGN_OR_RETURN(const std::size_t got, reader->Read(chunk));
    if (got == 0) return hasher.Finish() == object.digest;
    hasher.Update(std::string_view(chunk).substr(0, got));
  }
}

}  // namespace pipeline
