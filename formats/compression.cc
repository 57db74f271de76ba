#include "formats/compression.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/str.h"
#include "formats/stream_decoder.h"
#include "formats/xz.h"

namespace pipeline {

namespace {

using namespace std::string_view_literals;

template <std::size_t kCount>
using Endings = std::array<std::string_view, kCount>;

constexpr Endings<1> kXzEndings = {".xz"}, kGzipEndings = {".gz"}, kBzip2Endings = {".bz2"},
                     kLz4Endings = {".lz4"};
constexpr Endings<2> kZstdEndings = {".zst", ".zstd"};

constexpr std::array kFormats = {
    CompressedFormat{kXzName, kXzEndings, IsXz, NewXzReader},
    CompressedFormat{"zstd", kZstdEndings, IsZstd, NewZstdReader},
    CompressedFormat{"gzip", kGzipEndings, IsGzip, NewGzipReader},
    CompressedFormat{"bzip2", kBzip2Endings, IsBzip2, NewBzip2Reader},
    CompressedFormat{"lz4", kLz4Endings, IsLz4, NewLz4Reader},
};

struct Refused {
  std::string_view magic;
  std::string_view format;
};

constexpr std::array<Refused, 5> kRefused = {{
    {"PK\x03\x04"sv, "zip"},
    {"PK\x05\x06"sv, "zip"},
    {"7z\xBC\xAF\x27\x1C"sv, "7z"},
    {"\x02\x21\x4C\x18"sv, "legacy lz4"},
    {"\x5D\x00\x00"sv, "lzma"},
}};
constexpr Endings<3> kRefusedEndings = {".zip", ".7z", ".lzma"};

/// Returns the ending that promises compressed data; empty: `name` has none.
std::string_view CompressedEnding(std::string_view name) {
  const auto is_ending = [name](std::string_view ending) { return name.ends_with(ending); };
  for (const CompressedFormat& format : kFormats)
    if (const auto found = std::ranges::find_if(format.endings, is_ending); found != format.endings.end())
      return *found;
  const auto* const found = std::ranges::find_if(kRefusedEndings, is_ending);
  return found != kRefusedEndings.end() ? *found : std::string_view();
}

}  // namespace

std::span<const CompressedFormat> CompressedFormats() { return kFormats; }

std::optional<Compression> Compression::Named(std::string_view name) {
  if (name == Compression().name()) return Compression();
  for (const CompressedFormat& format : kFormats)
    if (name == format.name) return Compression(format);
  return std::nullopt;
}

Result<std::unique_ptr<ByteReader>> Compression::Decode(std::unique_ptr<ByteReader> input) const {
  if (is_plain()) return input;
  return format_->decode(std::move(input));
}

Result<std::unique_ptr<ByteReader>> Compression::Decode(std::unique_ptr<ByteReader> input,
                                                        const StreamPosition& begin,
                                                        std::shared_ptr<MemberEnds> ends) const {
  ASSIGN_OR_RETURN(std::unique_ptr<ByteReader> reader, Decode(std::move(input)));
  if (!is_plain()) static_cast<StreamDecoder&>(*reader).Begin(begin, std::move(ends));
  return reader;
}

Result<Compression> DetectCompression(std::string_view front, std::string_view name,
                                      std::string_view if_text) {
  for (const CompressedFormat& format : kFormats)
    if (format.is_front(front)) return Compression(format);
  for (const Refused& refused : kRefused)
    if (front.starts_with(refused.magic))
      return Status(Code::kUnimplemented, StrCat("is ", refused.format,
                                                 " data, which is not read; compress the text with "
                                                 "xz, zstd or gzip, or leave it plain"));
  if (const std::string_view ending = CompressedEnding(name); !ending.empty())
    return Status(Code::kDataLoss,
                  StrCat("is named ", ending, " but ", front.empty() ? "is empty" : "holds no such data",
                         "; fetch the file again", if_text.empty() ? "" : ", or ", if_text,
                         if_text.empty() ? "" : " if it is text"));
  return Compression();
}

Status RefuseNestedCompression(std::string_view front, Compression outer) {
  ASSIGN_OR_RETURN(const Compression inner, DetectCompression(front, {}));
  if (inner.is_plain()) return {};
  return Status(Code::kUnimplemented, StrCat("is ", inner.name(), " data inside ", outer.name(),
                                             " data; one layer is undone: decompress the outer one first"));
}

Result<std::string> ReadFront(ByteReader& reader, std::size_t most) {
  std::string front(most, '\0');
  ASSIGN_OR_RETURN(const std::size_t filled, ReadFully(reader, front));
  front.resize(filled);
  return front;
}

Result<std::unique_ptr<ByteReader>> NewContentDecoder(std::string_view coding,
                                                      std::unique_ptr<ByteReader> sent) {
  if (coding == "gzip") return NewGzipReader(std::move(sent));
  if (coding == "deflate") return NewDeflateReader(std::move(sent));
  if (coding == "br") return NewBrotliReader(std::move(sent));
  if (coding == "zstd") return NewZstdReader(std::move(sent));
  return Status(Code::kUnimplemented, StrCat("'", std::string(coding.substr(0, 40)),
                                             "' is none of gzip, deflate, br and zstd; download it, or find "
                                             "another server"));
}

}  // namespace pipeline
