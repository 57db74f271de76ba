#include "formats/tfrecord.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <memory>

#include "base/crc32c.h"
#include "base/str.h"

namespace pipeline {

namespace {

constexpr std::size_t kRecordHeaderBytes = 12;
constexpr std::size_t kFooterBytes = 4;
constexpr std::size_t kReadAhead = 256 << 10;
constexpr std::uint64_t kMostLikelyBytes = std::uint64_t{1} << 40;
constexpr std::uint64_t kHighestLimit = std::uint64_t{1} << 62;  // a frame can be added without overflow

template <class Number>
void PutLittleEndian(char* at, Number number) {
  for (std::size_t i = 0; i < sizeof(Number); ++i) at[i] = static_cast<char>(number >> (8 * i));
}

template <class Number>
Number GetLittleEndian(const char* at) {
  Number number = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i)
    number |= static_cast<Number>(static_cast<unsigned char>(at[i])) << (8 * i);
  return number;
}

std::uint32_t MaskedCrc(std::string_view bytes) { return MaskCrc32c(Crc32c(bytes)); }

std::string Hex(std::uint32_t word) {
  std::array<char, 8> digits{};
  const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), word, 16).ptr;
  const std::string_view text(digits.data(), static_cast<std::size_t>(end - digits.data()));
  return StrCat(std::string(8 - text.size(), '0'), text);
}

std::string CrcMismatch(std::string_view of, std::uint32_t stored, std::uint32_t computed) {
  return StrCat("damaged: the CRC of the ", of, " is stored as ", Hex(stored), ", the bytes give ",
                Hex(computed));
}

}  // namespace

bool BeginsLikeTfRecord(std::string_view front) {
  return front.size() >= kRecordHeaderBytes &&
         GetLittleEndian<std::uint64_t>(front.data()) <= kMostLikelyBytes &&
         GetLittleEndian<std::uint32_t>(front.data() + 8) == MaskedCrc(front.substr(0, 8));
}

std::optional<std::string_view> TfRecordIn(std::string_view bytes) {
  if (bytes.size() < kTfRecordOverhead ||
      GetLittleEndian<std::uint64_t>(bytes.data()) != bytes.size() - kTfRecordOverhead)
    return std::nullopt;
  return bytes.substr(kRecordHeaderBytes, bytes.size() - kTfRecordOverhead);
}

void AppendTfRecordHeader(std::string& out, std::uint64_t length) {
  std::array<char, kRecordHeaderBytes> header;
  PutLittleEndian<std::uint64_t>(header.data(), length);
  PutLittleEndian<std::uint32_t>(header.data() + 8, MaskedCrc({header.data(), 8}));
  out.append(header.data(), header.size());
}

void AppendTfRecordFooter(std::string& out, std::size_t data_begin) {
  std::array<char, kFooterBytes> footer;
  PutLittleEndian<std::uint32_t>(footer.data(), MaskedCrc(std::string_view(out).substr(data_begin)));
  out.append(footer.data(), footer.size());
}

void AppendTfRecord(std::string& out, std::string_view data) {
  AppendTfRecordHeader(out, data.size());
  const std::size_t begin = out.size();
  out.append(data);
  AppendTfRecordFooter(out, begin);
}

TfRecordReader::TfRecordReader(ByteReader& input, std::uint64_t max_record_bytes, std::uint64_t offset)
    : input_(input), max_record_bytes_(std::min(max_record_bytes, kHighestLimit)), offset_(offset) {}

Result<std::optional<std::string_view>> TfRecordReader::Next() {
  if (!failure_.ok()) return failure_;
  RETURN_IF_ERROR(Fill(kRecordHeaderBytes));
  if (available() == 0) return std::nullopt;
  if (available() < kRecordHeaderBytes)
    return Fail(Code::kDataLoss, StrCat("truncated: the file ends after ", available(), " of the ",
                                        kRecordHeaderBytes, " bytes of its header"));

  const char* header = buffer_.data() + begin_;
  const auto length = GetLittleEndian<std::uint64_t>(header);
  const auto length_crc = GetLittleEndian<std::uint32_t>(header + 8);
  if (const std::uint32_t crc = MaskedCrc({header, 8}); crc != length_crc)
    return Fail(Code::kDataLoss, CrcMismatch("length", length_crc, crc));
  if (length > max_record_bytes_)
    return Fail(Code::kResourceExhausted,
                StrCat("has ", length, " bytes: more than the limit of ", max_record_bytes_));

  const auto size = static_cast<std::size_t>(length);
  const std::size_t framed = kTfRecordOverhead + size;
  RETURN_IF_ERROR(Fill(framed));
  if (available() < framed)
    return Fail(Code::kDataLoss,
                StrCat("truncated: the file ends after ", available(), " of its ", framed, " bytes"));

  const std::string_view data(buffer_.data() + begin_ + kRecordHeaderBytes, size);
  const auto data_crc = GetLittleEndian<std::uint32_t>(data.data() + size);
  if (const std::uint32_t crc = MaskedCrc(data); crc != data_crc)
    return Fail(Code::kDataLoss, CrcMismatch("data", data_crc, crc));
  begin_ += framed;
  offset_ += framed;
  return std::optional<std::string_view>(data);
}

Status TfRecordReader::Fill(std::size_t count) {
  if (available() >= count || at_end_) return {};
  std::memmove(buffer_.data(), buffer_.data() + begin_, available());
  end_ -= begin_;
  begin_ = 0;
  while (end_ < count && !at_end_) {
    if (end_ == buffer_.size()) buffer_.resize(std::max(kReadAhead, 2 * buffer_.size()));
    Result<std::size_t> got = input_.Read(std::span(buffer_).subspan(end_));
    if (!got.ok()) return failure_ = std::move(got).status();
    at_end_ = *got == 0;
    end_ += *got;
  }
  return {};
}

Status TfRecordReader::Fail(Code code, std::string_view what) {
  failure_ = Status(code, StrCat("record at offset ", offset_, ": ", what))
                 .With(std::make_shared<DamagedRecord>(std::string(what)));
  return failure_;
}

}  // namespace pipeline
