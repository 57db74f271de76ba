// Whatever the bytes, as a tar and as a zip: pieces do not matter, and it ends.
#include <memory>
#include <string>
#include <string_view>

#include "formats/archive_text.h"
#include "tests/fuzz/decoder_check.h"

namespace {

using namespace pipeline;

Decoded DecodeArchive(ArchiveKind kind, const MemoryFile& file, const std::string& bytes, std::size_t chunk,
                      std::size_t piece) {
  Decoded decoded;
  auto archive =
      kind == ArchiveKind::kZip ? OpenZip(file, {}) : OpenTar(std::make_unique<MemoryReader>(bytes, chunk));
  if (!archive.ok()) {
    decoded.status = archive.status();
    return decoded;
  }
  const auto borders = std::make_shared<MemberBorders>();
  const std::unique_ptr<ByteReader> text = NewArchiveText(
      std::move(archive).value(), {}, [&bytes] { return bytes.size(); }, bytes.size(), borders);
  std::string buffer(piece, '\0');
  while (decoded.text.size() < (1u << 20)) {
    const Result<std::size_t> got = text->Read(buffer);
    while (const auto border = borders->Take(decoded.text.size())) Require(border->name.size() <= 603);
    if (!got.ok()) decoded.status = got.status();
    if (!got.ok() || *got == 0) return decoded;
    decoded.text.append(buffer, 0, *got);
  }
  decoded.text.resize(1u << 20);
  return decoded;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  for (const ArchiveKind kind : {ArchiveKind::kTar, ArchiveKind::kZip}) {
    const Decoded whole = DecodeArchive(kind, MemoryFile(bytes), bytes, size + 1, 1 << 16);
    const Decoded pieces = DecodeArchive(kind, MemoryFile(bytes, 7), bytes, 7, 1 + size % 1000);
    Require(whole.status.ok() == pieces.status.ok());
    Require(whole.status.code() != Code::kInternal);
    if (whole.status.ok()) Require(whole.text == pieces.text);
    DetectArchive(bytes);
  }
  return 0;
}
