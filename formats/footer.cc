#include "formats/footer.h"

#include <array>

#include "base/crc32c.h"
#include "base/str.h"
#include "formats/coding.h"

namespace pipeline {

std::string SealFooter(const FooterKind& kind, std::string_view footer) {
  std::string sealed(footer);
  PutU64(sealed, footer.size());
  PutU32(sealed, kind.version);
  PutU32(sealed, Crc32c(sealed));
  sealed.append(kind.magic);
  return sealed;
}

Result<Footer> ReadFooter(const FooterKind& kind, const ByteFile& file, std::stop_token stop) {
  const auto damaged = [&](std::uint64_t offset, std::string_view why) {
    return Status(Code::kDataLoss, StrCat("offset ", offset, ": ", why));
  };
  if (file.size() < kHeadBytes + kTrailerBytes)
    return damaged(file.size(), StrCat("too short for a ", kind.name, ": truncated"));
  std::array<char, kHeadBytes> head{};
  RETURN_IF_ERROR(ReadAt(file, 0, head, stop));
  if (std::string_view(head.data(), head.size()) != kind.magic)
    return damaged(0, StrCat("does not begin as a ", kind.name));

  const std::uint64_t trailer_offset = file.size() - kTrailerBytes;
  std::array<char, kTrailerBytes> trailer_bytes{};
  RETURN_IF_ERROR(ReadAt(file, trailer_offset, trailer_bytes, stop));
  Decoder trailer({trailer_bytes.data(), trailer_bytes.size()});
  const std::uint64_t size = trailer.U64();
  const std::uint32_t version = trailer.U32();
  const std::uint32_t crc = trailer.U32();
  if (trailer.Bytes(kHeadBytes) != kind.magic)
    return damaged(trailer_offset, StrCat("does not end as a ", kind.name, ": truncated"));
  if (version != kind.version)
    return Status(Code::kFailedPrecondition, StrCat("a ", kind.name, " of version ", version,
                                                    "; this program reads version ", kind.version));
  if (size > trailer_offset - kHeadBytes)
    return damaged(trailer_offset, StrCat("says that its footer has ", size, " bytes, more than the file"));

  Footer footer;
  footer.offset = trailer_offset - size;
  footer.bytes.resize(size);
  RETURN_IF_ERROR(ReadAt(file, footer.offset, footer.bytes, stop));
  constexpr std::size_t kCovered = 12;  // size and version
  if (Crc32c({trailer_bytes.data(), kCovered}, Crc32c(footer.bytes)) != crc)
    return damaged(footer.offset, "the checksum of the footer differs");
  return footer;
}

}  // namespace pipeline
