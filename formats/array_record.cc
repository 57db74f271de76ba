#include "formats/array_record.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/highway_hash.h"
#include "base/str.h"
#include "formats/coding.h"

namespace pipeline {

namespace {

using namespace std::string_view_literals;

constexpr HighwayKey kKey = {0x2f696c6567656952, 0x0a7364726f636572, 0x2f696c6567656952, 0x0a7364726f636572};
constexpr std::uint64_t kBlock = 1 << 16;
constexpr std::uint64_t kBlockHeader = 24;
constexpr std::uint64_t kUsable = kBlock - kBlockHeader;
constexpr std::uint64_t kChunkHeader = 40;
constexpr char kSignature = 's', kRecords = 'r', kPadding = 'p';
constexpr std::uint64_t kPostscriptMagic = 0x71930e704fdae05e;
constexpr std::uint64_t kArrayRecordVersion = 1;
constexpr std::string_view kOptions =
    "group_size:1,transpose:false,pad_to_block_boundary:false,uncompressed,max_parallelism:1";
constexpr int kPostscripts = 3;
constexpr std::string_view kFileFront =
    "\x83\xaf\x70\xd1\x0d\x88\x4a\x3f\0\0\0\0\0\0\0\0\x40\0\0\0\0\0\0\0"
    "\x91\xba\xc2\x3c\x92\x87\xe1\xa9\0\0\0\0\0\0\0\0\xe1\x9f\x13\xc0\xe9\xb1\xc3\x72"
    "s\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"sv;
// Tags of protobuf for a field with a number and for one with bytes.
constexpr char Number(int field) { return static_cast<char>(field << 3); }
constexpr char Bytes(int field) { return static_cast<char>(field << 3 | 2); }

std::uint64_t Hash(std::string_view bytes) { return HighwayHash64(kKey, bytes); }

/// Returns 0 at the beginning of a block.
constexpr std::uint64_t LeftInBlock(std::uint64_t at) { return (kBlock - at % kBlock) % kBlock; }

/// Returns the end of a chunk that begins at `begin`.
constexpr std::uint64_t ChunkEnd(std::uint64_t begin, std::uint64_t data, std::uint64_t records) {
  const std::uint64_t size = kChunkHeader + data;
  const std::uint64_t headers = (size + (begin + kUsable - 1) % kBlock) / kUsable;
  const std::uint64_t least = begin + records, left = LeftInBlock(least);
  return std::max(begin + size + headers * kBlockHeader,
                  least + (left >= kUsable ? left - (kUsable - 1) : 0));
}

void PutField(std::string& out, int field, std::uint64_t number) {
  out.push_back(Number(field));
  PutVarint(out, number);
}

/// The numbers of a message by field; the decoder is behind the tag of the present field.
struct Message {
  explicit Message(std::string_view message) : in(message) {}
  /// Returns the number of the next field; 0: the end, or a field of another kind.
  int Next() {
    if (in.left() == 0) return 0;
    const std::uint64_t tag = in.Varint();
    if (tag % 8 == 0) {
      number = in.Varint();
    } else if (tag % 8 == 2) {
      bytes = in.Bytes(in.Varint());
    } else {
      in.Fail();
    }
    if (tag >= 1 << 10) in.Fail();
    return in.ok() ? static_cast<int>(tag >> 3) : 0;
  }
  Decoder in;
  std::uint64_t number = 0;
  std::string_view bytes;
};

Status DamagedArrayRecord(std::uint64_t at, std::string_view why) {
  return Status(Code::kDataLoss, StrCat("not an ArrayRecord file: byte ", at, ": ", why));
}

}  // namespace

bool BeginsLikeArrayRecord(std::string_view front) {
  static_assert(kFileFront.size() == kArrayRecordFront);
  return front.starts_with(kFileFront);
}

// ----------------------------------------------------------------------------------------- writing

void ArrayRecordWriter::Begin(std::string& out) {
  if (at_ == 0) WriteChunk(kSignature, 0, 0, {}, out);
}

void ArrayRecordWriter::Append(std::string_view record, std::string& out) {
  Begin(out);
  chunks_.push_back({at_, static_cast<std::uint32_t>(record.size())});
  WriteRecords({record}, out);
}

void ArrayRecordWriter::Finish(std::string& out) {
  Begin(out);
  std::string facts, texts;
  PutField(facts, 1, kArrayRecordVersion);
  PutField(facts, 2, chunks_.size());
  PutField(facts, 3, chunks_.size());
  facts.push_back(Bytes(4));
  PutVarint(facts, kOptions.size());
  facts.append(kOptions);
  texts.push_back(Bytes(1));
  PutVarint(texts, facts.size());
  texts.append(facts);
  std::vector<std::size_t> ends = {texts.size()};
  for (const Chunk& chunk : chunks_) {
    PutField(texts, 1, chunk.offset);
    PutField(texts, 2, chunk.size);
    PutField(texts, 3, 1);
    ends.push_back(texts.size());
  }
  std::vector<std::string_view> records;
  for (std::size_t at = 0, begin = 0; at < ends.size(); begin = ends[at++])
    records.push_back(std::string_view(texts).substr(begin, ends[at] - begin));

  std::string postscript;
  PutField(postscript, 1, at_);
  PutField(postscript, 2, kPostscriptMagic);
  WriteRecords(records, out);
  PadToBlock(out);
  WriteRecords(std::vector<std::string_view>(kPostscripts, postscript), out);
  PadToBlock(out);
}

void ArrayRecordWriter::WriteRecords(const std::vector<std::string_view>& records, std::string& out) {
  std::string sizes;
  std::uint64_t decoded = 0;
  for (const std::string_view record : records) {
    PutVarint(sizes, record.size());
    decoded += record.size();
  }
  data_.assign(1, '\0');  // no compression
  PutVarint(data_, sizes.size());
  data_.append(sizes);
  for (const std::string_view record : records) data_.append(record);
  WriteChunk(kRecords, records.size(), decoded, data_, out);
}

void ArrayRecordWriter::WriteChunk(char type, std::uint64_t records, std::uint64_t decoded,
                                   std::string_view data, std::string& out) {
  std::string fields;
  PutU64(fields, data.size());
  PutU64(fields, Hash(data));
  PutU64(fields, records << 8 | static_cast<std::uint8_t>(type));
  PutU64(fields, decoded);
  std::string header;
  PutU64(header, Hash(fields));
  header.append(fields);
  const std::uint64_t begin = at_, end = ChunkEnd(begin, data.size(), records);
  WriteParts(header, 0, begin, end, out);
  WriteParts(data, 0, begin, end, out);
  while (at_ < end) WriteParts({}, std::min(end - at_, kUsable), begin, end, out);
}

/// Writes `bytes` and then `zeros`, with the block headers between them; the zeros end with the block.
void ArrayRecordWriter::WriteParts(std::string_view bytes, std::uint64_t zeros, std::uint64_t begin,
                                   std::uint64_t end, std::string& out) {
  while (!bytes.empty() || zeros > 0) {
    if (at_ % kBlock == 0) {
      std::string fields;
      PutU64(fields, at_ - begin);
      PutU64(fields, end - at_);
      PutU64(out, Hash(fields));
      out.append(fields);
      at_ += kBlockHeader;
    }
    const std::uint64_t count =
        std::min<std::uint64_t>(bytes.empty() ? zeros : bytes.size(), LeftInBlock(at_));
    at_ += count;
    if (!bytes.empty()) {
      out.append(bytes.substr(0, count));
      bytes.remove_prefix(count);
      continue;
    }
    out.append(count, '\0');
    return;
  }
}

void ArrayRecordWriter::PadToBlock(std::string& out) {
  if (at_ % kBlock == 0) return;
  std::uint64_t room = LeftInBlock(at_);
  if (room < kChunkHeader)
    room += kBlock - kBlockHeader;  // the header of the block on the way takes a part of it
  const std::string zeros(room - kChunkHeader, '\0');
  WriteChunk(kPadding, 0, 0, zeros, out);
}

// ----------------------------------------------------------------------------------------- reading

Result<std::unique_ptr<ArrayRecordReader>> ArrayRecordReader::Open(const ByteFile& file,
                                                                   std::stop_token stop) {
  std::unique_ptr<ArrayRecordReader> reader(new ArrayRecordReader(file, std::move(stop)));
  RETURN_IF_ERROR(reader->ReadEnd());
  return reader;
}

Result<std::optional<std::string_view>> ArrayRecordReader::Next() {
  if (next_ == chunks_.size()) return std::nullopt;
  const std::uint64_t begin = chunks_[next_].offset, size = chunks_[next_].size;
  ++next_;
  ASSIGN_OR_RETURN(const std::vector<std::string_view> records, ReadChunk(begin, offset()));
  if (records.size() != 1 || records[0].size() != size)
    return DamagedArrayRecord(begin, "the chunk is not the one that the footer names");
  return std::optional(records[0]);
}

Status ArrayRecordReader::ReadEnd() {
  const std::uint64_t size = file_.size();
  if (size % kBlock != 0 || size < 2 * kBlock)
    return DamagedArrayRecord(
        size, StrCat("the file ends here, not at a multiple of ", kBlock, " of two at least: truncated"));
  const std::uint64_t last = size - kBlock;
  ASSIGN_OR_RETURN(const std::vector<std::string_view> postscripts, ReadChunk(last, size));
  std::uint64_t magic = 0;
  if (!postscripts.empty()) {
    Message message(postscripts[0]);
    for (int field = message.Next(); field != 0; field = message.Next()) {
      if (field == 1) footer_ = message.number;
      if (field == 2) magic = message.number;
    }
  }
  if (magic != kPostscriptMagic) return DamagedArrayRecord(last, "no postscript");
  if (footer_ < kArrayRecordFront || footer_ >= last)
    return DamagedArrayRecord(last, "the footer lies elsewhere");
  ASSIGN_OR_RETURN(const std::vector<std::string_view> records, ReadChunk(footer_, last));
  RETURN_IF_ERROR(TakeFooter(records));
  std::array<char, kArrayRecordFront> bytes{};
  RETURN_IF_ERROR(ReadAt(file_, 0, bytes, stop_));
  return BeginsLikeArrayRecord({bytes.data(), bytes.size()}) ? Status()
                                                             : DamagedArrayRecord(0, "no signature");
}

Status ArrayRecordReader::TakeFooter(const std::vector<std::string_view>& records) {
  const auto wrong = [this](std::string_view why) {
    return DamagedArrayRecord(footer_, StrCat("the footer: ", why));
  };
  if (records.empty()) return wrong("no records");
  std::uint64_t version = 0, chunks = 0, all = 0;
  Message outer(records[0]);
  if (outer.Next() == 1) {
    Message facts(outer.bytes);
    for (int field = facts.Next(); field != 0; field = facts.Next()) {
      if (field == 1) version = facts.number;
      if (field == 2) chunks = facts.number;
      if (field == 3) all = facts.number;
    }
  }
  if (version != kArrayRecordVersion)
    return wrong(StrCat("version ", version, ", not ", kArrayRecordVersion));
  if (chunks != records.size() - 1 || all != chunks)
    return wrong(StrCat("it says ", chunks, " chunks of ", all, " records, and names ", records.size() - 1,
                        "; only files of group size 1 are read"));
  std::uint64_t least = kArrayRecordFront;
  for (std::size_t at = 1; at < records.size(); ++at) {
    Chunk chunk;
    std::uint64_t count = 0;
    Message message(records[at]);
    for (int field = message.Next(); field != 0; field = message.Next()) {
      if (field == 1) chunk.offset = message.number;
      if (field == 2) chunk.size = message.number;
      if (field == 3) count = message.number;
    }
    if (!message.in.ok() || count != 1)
      return wrong(StrCat("chunk ", at - 1, ": ", count, " records, not 1"));
    const bool follows = at == 1 ? chunk.offset == least : chunk.offset >= least + kChunkHeader;
    if (!follows || chunk.offset >= footer_)
      return wrong(StrCat("chunk ", at - 1, ": byte ", chunk.offset, " does not follow the one before"));
    least = chunk.offset;
    chunks_.push_back(chunk);
  }
  return {};
}

Result<std::vector<std::string_view>> ArrayRecordReader::ReadChunk(std::uint64_t offset, std::uint64_t end) {
  if (at_ != offset || !reader_) {
    ASSIGN_OR_RETURN(reader_, file_.Open(offset, stop_));
    at_ = offset;
  }
  data_.clear();
  Status read = Take(offset, kChunkHeader);
  if (!read.ok()) return reader_.reset(), std::move(read);
  const std::string header = std::exchange(data_, {});
  Decoder fields(header);
  const std::uint64_t hash = fields.U64(), size = fields.U64(), data_hash = fields.U64(), kind = fields.U64(),
                      decoded = fields.U64(), records = kind >> 8;
  const auto wrong = [&](std::string_view why) {
    reader_.reset();  // its position is unknown
    return DamagedArrayRecord(offset, why);
  };
  if (hash != Hash(std::string_view(header).substr(8)))
    return wrong("the hash of the chunk's header does not fit");
  if (static_cast<char>(kind) != kRecords) return wrong("no chunk of records");
  // Impossible sizes would overflow in ChunkEnd.
  if (size > end - offset || records > end - offset || ChunkEnd(offset, size, records) > end)
    return wrong("the chunk is longer than its place");
  read = Take(offset, size);
  if (!read.ok()) return reader_.reset(), std::move(read);
  if (data_hash != Hash(data_)) return wrong("the hash of the chunk's data does not fit");
  if (ChunkEnd(offset, size, records) != at_) reader_.reset();  // zeros come before the next chunk

  Decoder in(data_);
  if (in.U8() != 0) return wrong("compressed chunks are not read");
  Decoder sizes(in.Bytes(in.Varint()));
  std::vector<std::string_view> taken;
  std::uint64_t sum = 0;
  for (std::uint64_t at = 0; at < records && in.ok() && sizes.ok(); ++at) {
    taken.push_back(in.Bytes(sizes.Varint()));
    sum += taken.back().size();
  }
  if (!in.ok() || !sizes.ok() || in.left() > 0 || sizes.left() > 0 || sum != decoded)
    return wrong("its records do not fit their sizes");
  return taken;
}

Status ArrayRecordReader::Take(std::uint64_t begin, std::uint64_t size) {
  while (size > 0) {
    if (at_ % kBlock == 0) {
      std::array<char, kBlockHeader> bytes{};
      RETURN_IF_ERROR(ReadExactly(*reader_, bytes));
      const std::string_view header(bytes.data(), bytes.size());
      Decoder fields(header);
      if (fields.U64() != Hash(header.substr(8)) || fields.U64() != at_ - begin)
        return DamagedArrayRecord(at_, "the header of the block is not the one that belongs here");
      at_ += kBlockHeader;
    }
    const std::uint64_t count = std::min(size, LeftInBlock(at_));
    const std::size_t old = data_.size();
    data_.resize(old + count);
    RETURN_IF_ERROR(ReadExactly(*reader_, std::span(data_).subspan(old)));
    at_ += count;
    size -= count;
  }
  return {};
}

}  // namespace pipeline
