#include "formats/partition_file.h"

#include <utility>

#include "base/crc32c.h"
#include "base/str.h"
#include "formats/coding.h"
#include "formats/footer.h"

namespace pipeline {

namespace {

constexpr std::size_t kFrameHeaderBytes = 16;

struct FrameHeader {
  std::uint32_t stored = 0;
  std::uint32_t raw = 0;
  std::uint32_t records = 0;
  std::uint32_t crc = 0;
};

FrameHeader ParseFrameHeader(std::string_view bytes) {
  Decoder in(bytes);
  return {in.U32(), in.U32(), in.U32(), in.U32()};
}

Status DamagedFrame(std::uint64_t offset, std::string_view why) {
  return Status(Code::kDataLoss, StrCat("frame at offset ", offset, ": ", why));
}

}  // namespace

Status PartitionFrameEncoder::Encode(const RowsView& rows, std::string& frames) {
  for (std::size_t first = 0; first < rows.heads.size();) {
    std::size_t bytes = MaxRowBytes(columns_, rows, first);
    std::size_t last = first + 1;
    for (; last < rows.heads.size(); ++last) {
      bytes += MaxRowBytes(columns_, rows, last);
      if (bytes > kPartitionFrameBytes) break;
    }
    raw_.clear();
    EncodeRows(columns_, rows, first, last, raw_);
    if (raw_.size() > kMaxPartitionFrameBytes)
      return Status(Code::kInvalidArgument,
                    StrCat("record ", rows.heads[first].index, ": ", HumanBytes(raw_.size()),
                           " are more than a partition file can hold; lower max_record_bytes"));
    const std::size_t begin = frames.size();
    frames.append(kFrameHeaderBytes, '\0');
    RETURN_IF_ERROR(coder_.Compress(raw_, frames));
    const std::string_view stored = std::string_view(frames).substr(begin + kFrameHeaderBytes);
    std::string header;
    PutU32(header, static_cast<std::uint32_t>(stored.size()));
    PutU32(header, static_cast<std::uint32_t>(raw_.size()));
    PutU32(header, static_cast<std::uint32_t>(last - first));
    PutU32(header, Crc32c(stored));
    frames.replace(begin, kFrameHeaderBytes, header);
    first = last;
  }
  return {};
}

PartitionFileWriter::PartitionFileWriter(PartitionColumns columns,
                                         std::function<Status(std::string_view)> append)
    : columns_(columns), append_(std::move(append)), digest_(std::move(columns)) {}

Status PartitionFileWriter::Begin() {
  if (std::exchange(begun_, true)) return {};
  return append_(kPartitionKind.magic);
}

Status PartitionFileWriter::Append(std::string_view frames, const RowsView& rows) {
  RETURN_IF_ERROR(Begin());
  std::uint64_t records = 0;
  for (std::string_view rest = frames; !rest.empty(); ++frames_) {
    const FrameHeader header = ParseFrameHeader(rest);
    const std::uint64_t size = std::uint64_t{header.stored} + kFrameHeaderBytes;
    if (size > rest.size()) return Status(Code::kInternal, "partition file: frames that no encoder made");
    PutVarint(index_, size);
    PutVarint(index_, header.records);
    records += header.records;
    rest.remove_prefix(size);
  }
  if (records != rows.heads.size())
    return Status(Code::kInternal,
                  StrCat("partition file: frames of ", records, " records for ", rows.heads.size(), " rows"));
  digest_.Update(rows);
  return frames.empty() ? Status() : append_(frames);
}

Status PartitionFileWriter::Finish(const PartitionFacts& facts) {
  RETURN_IF_ERROR(Begin());
  std::string footer;
  for (const std::uint64_t fact :
       {std::uint64_t{facts.input}, std::uint64_t{facts.partition}, facts.raw_end, facts.document_end})
    PutVarint(footer, fact);
  PutVarint(footer, columns_.size());
  for (const PartitionColumn& column : columns_) {
    footer.push_back(static_cast<char>(column.type));
    PutVarint(footer, column.name.size());
    footer.append(column.name);
  }
  PutVarint(footer, frames_);
  footer.append(index_);
  PutVarint(footer, digest_.records());
  const Digest digest = digest_.Finish();
  PutU64(footer, digest.high);
  PutU64(footer, digest.low);
  return append_(SealFooter(kPartitionKind, footer));
}

Result<std::unique_ptr<PartitionFileReader>> PartitionFileReader::Open(std::shared_ptr<const ByteFile> file,
                                                                       std::stop_token stop) {
  ASSIGN_OR_RETURN(const Footer footer, ReadFooter(kPartitionKind, *file, stop));
  std::unique_ptr<PartitionFileReader> reader(new PartitionFileReader(std::move(file), std::move(stop)));
  RETURN_IF_ERROR(reader->ParseFooter(footer.bytes, footer.offset));
  return reader;
}

Status PartitionFileReader::ParseFooter(std::string_view footer, std::uint64_t footer_offset) {
  const auto damaged = [&](std::string_view why) {
    return Status(Code::kDataLoss, StrCat("footer at offset ", footer_offset, ": ", why));
  };
  Decoder in(footer);
  facts_.input = in.Varint32();
  facts_.partition = in.Varint32();
  facts_.raw_end = in.Varint();
  facts_.document_end = in.Varint();
  for (std::uint64_t left = in.Varint(); left > 0 && in.ok(); --left) {
    const std::uint8_t type = in.U8();
    if (type < 1 || type > 3) return damaged(StrCat("column type ", type));
    const std::string_view name = in.Bytes(in.Varint());
    columns_.push_back({std::string(name), static_cast<PartitionColumnType>(type)});
  }
  std::uint64_t end = kHeadBytes;
  std::uint64_t records = 0;
  for (std::uint64_t left = in.Varint(); left > 0 && in.ok(); --left) {
    const Frame frame = {in.Varint32(), in.Varint32()};
    if (frame.size < kFrameHeaderBytes || frame.records == 0) in.Fail();
    frames_.push_back(frame);
    end += frame.size;
    records += frame.records;
  }
  records_ = in.Varint();
  promised_.high = in.U64();
  promised_.low = in.U64();
  if (!in.ok() || in.left() > 0) return damaged(StrCat("makes no sense at byte ", in.offset()));
  if (end != footer_offset) return damaged(StrCat("its frames end at offset ", end));
  if (records != records_) return damaged(StrCat("its frames have ", records, " records of ", records_));
  offset_ = kHeadBytes;
  found_ = std::make_unique<RowsDigest>(columns_);
  return {};
}

Status PartitionFileReader::ReadFrame(const Frame& frame, PartitionRows& rows) {
  stored_.resize(frame.size);
  Status read = ReadExactly(*reader_, stored_);
  if (!read.ok()) return std::move(read).Annotate(StrCat("frame at offset ", offset_));
  const FrameHeader header = ParseFrameHeader(stored_);
  if (header.stored != frame.size - kFrameHeaderBytes || header.records != frame.records)
    return DamagedFrame(offset_, "its header differs from the footer");
  if (header.raw > kMaxPartitionFrameBytes)
    return DamagedFrame(offset_, StrCat("says that it has ", header.raw, " bytes"));
  const std::string_view zstd = std::string_view(stored_).substr(kFrameHeaderBytes);
  if (Crc32c(zstd) != header.crc) return DamagedFrame(offset_, "its checksum differs");
  Status status = coder_.Expand(zstd, header.raw, raw_);
  if (status.ok()) status = DecodeRows(columns_, raw_, header.records, rows);
  if (!status.ok()) return std::move(status).Annotate(StrCat("frame at offset ", offset_));
  return {};
}

Result<bool> PartitionFileReader::Next(PartitionRows& rows) {
  if (stop_.stop_requested()) return Status(Code::kCancelled, "stopped");
  const bool ended = next_ == frames_.size();
  if (!ended) {
    if (!reader_) {
      ASSIGN_OR_RETURN(reader_, file_->Open(kHeadBytes, stop_));
    }
    RETURN_IF_ERROR(ReadFrame(frames_[next_], rows));
    offset_ += frames_[next_++].size;
    std::vector<ColumnView> views;
    for (const PartitionRows::Column& column : rows.columns) views.push_back(column.view());
    found_->Update({rows.heads, views});
  }
  if (next_ == frames_.size() && found_->Finish() != promised_)
    return Status(Code::kDataLoss, StrCat("digest of the rows is ", found_->Finish().ToHex(), ", not ",
                                          promised_.ToHex(), " as promised at offset ", offset_));
  return !ended;
}

}  // namespace pipeline
