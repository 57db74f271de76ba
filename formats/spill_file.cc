#include "formats/spill_file.h"

#include <utility>

#include "base/crc32c.h"
#include "base/str.h"
#include "formats/footer.h"

namespace pipeline {

namespace {

/// Parses, checks and sums the bins of a split.
void ParseBins(Decoder& in, SpillSplit& split) {
  std::uint64_t bin = 0;  // one above the last bin
  for (std::uint64_t left = in.Varint(); left > 0 && in.ok(); --left) {
    bin += in.Varint32();
    const std::uint64_t records = in.Varint();
    const std::uint64_t bytes = in.Varint();
    if (bin >= kSpillBins || records == 0) return in.Fail();
    split.bins.push_back({static_cast<std::uint32_t>(bin), records, bytes});
    split.records += records;
    split.bytes += bytes;
    ++bin;
  }
}

/// Parses the frames of a split, and moves `offset` from their begin to their end.
void ParseFrames(Decoder& in, bool compressed, std::uint64_t& offset, SpillSplit& split) {
  std::uint64_t records = 0;
  for (std::uint64_t left = in.Varint(); left > 0 && in.ok(); --left) {
    SpillFrame frame;
    frame.first_hash = in.U64();
    frame.records = in.Varint32();
    frame.raw = in.Varint32();
    frame.stored = compressed ? in.Varint32() : frame.raw;
    frame.crc32c = in.U32();
    frame.offset = offset;
    const bool in_order = split.frames.empty() || split.frames.back().first_hash <= frame.first_hash;
    if (!in_order || frame.records == 0 || frame.raw > kMaxSpillFrameBytes) return in.Fail();
    split.frames.push_back(frame);
    offset += frame.stored;
    records += frame.records;
  }
  if (records != split.records || records == 0) in.Fail();
}

}  // namespace

SpillFileWriter::SpillFileWriter(std::uint32_t input, std::uint32_t partition, const Options& options,
                                 std::function<Status(std::string_view)> append)
    : input_(input), partition_(partition), options_(options), append_(std::move(append)) {
  hasher_.UpdateU64(input).UpdateU64(partition);
}

Status SpillFileWriter::Begin() {
  if (std::exchange(begun_, true)) return {};
  return append_(kSpillKind.magic);
}

Status SpillFileWriter::BeginSplit(std::uint8_t split, std::uint64_t records) {
  RETURN_IF_ERROR(EndSplit());
  RETURN_IF_ERROR(Begin());
  in_split_ = true;
  ++split_count_;
  splits_.push_back(static_cast<char>(split));
  hasher_.UpdateU64(split).UpdateU64(records);
  return {};
}

Status SpillFileWriter::Add(const SpillRow& row) {
  row_.clear();
  PutU64(row_, row.hash);
  PutVarint(row_, row.index);
  PutVarint(row_, row.sub);
  PutVarint(row_, row.payload.size());
  const std::size_t size = row_.size() + row.payload.size();
  if (size > kMaxSpillFrameBytes)
    return Status(Code::kInvalidArgument, StrCat("record ", row.index, ": ", HumanBytes(size),
                                                 " are more than a spill file can hold"));
  if (!frame_.empty() && frame_.size() + size > options_.frame_bytes) RETURN_IF_ERROR(EndFrame());
  if (frame_.empty()) first_hash_ = row.hash;
  frame_.append(row_).append(row.payload);
  ++records_;
  Bin& bin = bins_[SpillBinOf(row.hash)];
  ++bin.records;
  bin.bytes += row.payload.size();
  return {};
}

Status SpillFileWriter::EndFrame() {
  if (frame_.empty()) return {};
  hasher_.Update(frame_);
  std::string_view stored = frame_;
  if (options_.compress) {
    stored_.clear();
    RETURN_IF_ERROR(coder_.Compress(frame_, stored_));
    stored = stored_;
  }
  PutU64(entries_, first_hash_);
  PutVarint(entries_, records_);
  PutVarint(entries_, frame_.size());
  if (options_.compress) PutVarint(entries_, stored.size());
  PutU32(entries_, Crc32c(stored));
  ++frames_;
  RETURN_IF_ERROR(append_(stored));
  frame_.clear();
  records_ = 0;
  return {};
}

Status SpillFileWriter::EndSplit() {
  if (!std::exchange(in_split_, false)) return {};
  RETURN_IF_ERROR(EndFrame());
  std::string bins;
  std::uint64_t count = 0;
  std::uint32_t gap = 0;
  for (Bin& bin : bins_) {
    if (bin.records == 0) {
      ++gap;
      continue;
    }
    PutVarint(bins, gap);
    PutVarint(bins, bin.records);
    PutVarint(bins, bin.bytes);
    bin = {};
    gap = 0;
    ++count;
  }
  PutVarint(splits_, count);
  splits_.append(bins);
  PutVarint(splits_, frames_);
  splits_.append(entries_);
  entries_.clear();
  frames_ = 0;
  return {};
}

Result<Digest> SpillFileWriter::Finish() {
  RETURN_IF_ERROR(EndSplit());
  RETURN_IF_ERROR(Begin());
  const Digest digest = hasher_.Finish();
  std::string footer;
  PutVarint(footer, input_);
  PutVarint(footer, partition_);
  footer.push_back(options_.compress ? 1 : 0);
  PutVarint(footer, split_count_);
  footer.append(splits_);
  PutU64(footer, digest.high);
  PutU64(footer, digest.low);
  RETURN_IF_ERROR(append_(SealFooter(kSpillKind, footer)));
  return digest;
}

Result<SpillIndex> ReadSpillIndex(const ByteFile& file, std::stop_token stop) {
  ASSIGN_OR_RETURN(const Footer footer, ReadFooter(kSpillKind, file, std::move(stop)));
  SpillIndex index;
  Decoder in(footer.bytes);
  index.input = in.Varint32();
  index.partition = in.Varint32();
  const std::uint8_t compression = in.U8();
  index.compressed = compression == 1;
  if (compression > 1) in.Fail();
  std::uint64_t offset = kHeadBytes;
  for (std::uint64_t left = in.Varint(); left > 0 && in.ok(); --left) {
    SpillSplit split;
    split.number = in.U8();
    if (!index.splits.empty() && split.number <= index.splits.back().number) in.Fail();
    ParseBins(in, split);
    ParseFrames(in, index.compressed, offset, split);
    index.splits.push_back(std::move(split));
  }
  index.digest.high = in.U64();
  index.digest.low = in.U64();
  if (!in.ok() || in.left() > 0)
    return Status(Code::kDataLoss,
                  StrCat("footer at offset ", footer.offset, ": makes no sense at byte ", in.offset()));
  if (offset != footer.offset)
    return Status(Code::kDataLoss,
                  StrCat("footer at offset ", footer.offset, ": its frames end at offset ", offset));
  index.footer_bytes = file.size() - footer.offset + kHeadBytes;
  return index;
}

Status OpenSpillFrame(const SpillFrame& frame, bool compressed, ZstdFrameCoder& coder, std::string& bytes) {
  const auto where = [&frame] { return StrCat("frame at offset ", frame.offset); };
  if (Crc32c(bytes) != frame.crc32c)
    return Status(Code::kDataLoss, StrCat(where(), ": its checksum differs"));
  if (!compressed) return {};
  std::string raw;
  Status status = coder.Expand(bytes, frame.raw, raw);
  if (!status.ok()) return std::move(status).Annotate(where());
  bytes.swap(raw);
  return {};
}

}  // namespace pipeline
