#include "formats/compression.h"

#include <array>
#include <string>
#include <utility>

#include "base/str.h"
#include "formats/bzip2_reader.h"
#include "formats/gzip_reader.h"
#include "formats/lz4_reader.h"
#include "formats/xz.h"
#include "formats/zstd_reader.h"

namespace pipeline {

namespace {

using namespace std::string_view_literals;

struct Magic {
  std::string_view bytes;
  std::string_view format;
};

constexpr std::array<Magic, 5> kRefused = {{
    {"PK\x03\x04"sv, "zip"},
    {"PK\x05\x06"sv, "zip"},
    {"7z\xBC\xAF\x27\x1C"sv, "7z"},
    {"\x02\x21\x4C\x18"sv, "legacy lz4"},
    {"\x5D\x00\x00"sv, "lzma"},
}};

constexpr std::array<std::string_view, 9> kCompressedNames = {".xz",  ".zst", ".zstd", ".gz",  ".bz2",
                                                              ".zip", ".7z",  ".lz4",  ".lzma"};

bool IsBzip2(std::string_view front) {
  // The size of its blocks, then a block (pi) or the end of the stream (its square root).
  if (front.size() < 4 || !front.starts_with("BZh") || front[3] < '1' || front[3] > '9') return false;
  const std::string_view next = front.substr(4, 6);
  return next == "\x31\x41\x59\x26\x53\x59"sv.substr(0, next.size()) ||
         next == "\x17\x72\x45\x38\x50\x90"sv.substr(0, next.size());
}

bool IsZstd(std::string_view front) {
  if (front.starts_with("\x28\xB5\x2F\xFD"sv)) return true;
  return front.size() >= 4 && (static_cast<unsigned char>(front[0]) & 0xF0) == 0x50 &&
         front.substr(1, 3) == "\x2A\x4D\x18"sv;
}

}  // namespace

std::string_view CompressionName(Compression compression) {
  switch (compression) {
    case Compression::kPlain: return "plain";
    case Compression::kXz: return "xz";
    case Compression::kZstd: return "zstd";
    case Compression::kGzip: return "gzip";
    case Compression::kBzip2: return "bzip2";
    case Compression::kLz4: return "lz4";
  }
  return "unknown";
}

Result<Compression> DetectCompression(std::string_view front, std::string_view name) {
  if (front.starts_with("\xFD\x37\x7A\x58\x5A\x00"sv)) return Compression::kXz;
  if (front.starts_with("\x1F\x8B\x08"sv)) return Compression::kGzip;
  if (front.starts_with("\x04\x22\x4D\x18"sv)) return Compression::kLz4;
  if (IsZstd(front)) return Compression::kZstd;
  if (IsBzip2(front)) return Compression::kBzip2;
  for (const Magic& magic : kRefused)
    if (front.starts_with(magic.bytes))
      return Status(Code::kUnimplemented, StrCat("is ", magic.format,
                                                 " data, which is not read; compress the text with "
                                                 "xz, zstd or gzip, or leave it plain"));
  for (const std::string_view suffix : kCompressedNames)
    if (name.ends_with(suffix))
      return Status(Code::kDataLoss,
                    StrCat("is named ", suffix, " but ", front.empty() ? "is empty" : "holds no such data",
                           "; fetch the file again, or set format: plain if it is text"));
  return Compression::kPlain;
}

Status RefuseNestedCompression(std::string_view front, Compression outer) {
  ASSIGN_OR_RETURN(const Compression inner, DetectCompression(front, {}));
  if (inner == Compression::kPlain) return {};
  return Status(Code::kUnimplemented,
                StrCat("is ", CompressionName(inner), " data inside ", CompressionName(outer),
                       " data; one layer is undone: decompress the outer one first"));
}

Result<std::string> ReadFront(ByteReader& reader, std::size_t most) {
  std::string front(most, '\0');
  std::size_t filled = 0;
  while (filled < front.size()) {
    ASSIGN_OR_RETURN(const std::size_t got, reader.Read(std::span(front).subspan(filled)));
    if (got == 0) break;
    filled += got;
  }
  front.resize(filled);
  return front;
}

Result<std::unique_ptr<ByteReader>> NewDecoder(Compression compression, std::unique_ptr<ByteReader> input) {
  switch (compression) {
    case Compression::kPlain: break;
    case Compression::kXz: return NewXzReader(std::move(input));
    case Compression::kZstd: return NewZstdReader(std::move(input));
    case Compression::kGzip: return NewGzipReader(std::move(input));
    case Compression::kBzip2: return NewBzip2Reader(std::move(input));
    case Compression::kLz4: return NewLz4Reader(std::move(input));
  }
  return input;
}

}  // namespace pipeline
