#include "formats/tfrecord.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <memory>

#include "base/crc32c.h"
#include "base/json_fields.h"
#include "base/str.h"
#include "formats/coding.h"

namespace pipeline {

namespace {

constexpr std::size_t kRecordHeaderBytes = 12;
constexpr std::size_t kFooterBytes = 4;
constexpr std::size_t kReadAhead = 256 << 10;
constexpr std::uint64_t kMostLikelyBytes = std::uint64_t{1} << 40;
constexpr std::uint64_t kHighestLimit = std::uint64_t{1} << 62;  // a frame can be added without overflow

std::uint32_t MaskedCrc(std::string_view bytes) { return MaskCrc32c(Crc32c(bytes)); }

std::string CrcMismatch(std::string_view of, std::uint32_t stored, std::uint32_t computed) {
  return StrCat("damaged: the CRC of the ", of, " is stored as ", Hex32(stored), ", the bytes give ",
                Hex32(computed));
}

}  // namespace

bool BeginsLikeTfRecord(std::string_view front) {
  return front.size() >= kRecordHeaderBytes && Decoder(front).U64() <= kMostLikelyBytes &&
         Decoder(front.substr(8)).U32() == MaskedCrc(front.substr(0, 8));
}

std::optional<std::string_view> TfRecordIn(std::string_view bytes) {
  if (bytes.size() < kTfRecordOverhead || Decoder(bytes).U64() != bytes.size() - kTfRecordOverhead)
    return std::nullopt;
  return bytes.substr(kRecordHeaderBytes, bytes.size() - kTfRecordOverhead);
}

void AppendTfRecordHeader(std::string& out, std::uint64_t length) {
  const std::size_t begin = out.size();
  PutU64(out, length);
  PutU32(out, MaskedCrc(std::string_view(out).substr(begin)));
}

void AppendTfRecordFooter(std::string& out, std::size_t data_begin) {
  PutU32(out, MaskedCrc(std::string_view(out).substr(data_begin)));
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

  const std::string_view header(buffer_.data() + begin_, kRecordHeaderBytes);
  Decoder fields(header);
  const std::uint64_t length = fields.U64();
  const std::uint32_t length_crc = fields.U32();
  if (const std::uint32_t crc = MaskedCrc(header.substr(0, 8)); crc != length_crc)
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
  const std::uint32_t data_crc = Decoder({data.data() + size, kFooterBytes}).U32();
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
