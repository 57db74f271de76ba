#include "formats/megatron_index.h"

#include <algorithm>
#include <utility>

#include "base/str.h"
#include "formats/coding.h"

namespace pipeline {

namespace {

using namespace std::string_view_literals;

constexpr std::string_view kIndexMagic = "MMIDIDX\0\0"sv;
constexpr std::uint64_t kIndexVersion = 1;
constexpr std::uint64_t kIndexHeaderBytes = 34;
constexpr std::uint64_t kLengthBytes = 4, kNumberBytes = 8;  // of a sequence; of a pointer or document
constexpr std::uint32_t kSmallVocabulary = 65500;
constexpr std::uint64_t kPartSequences = 1 << 15;  // that are written and read at once

Status Wrong(std::string_view why) { return Status(Code::kDataLoss, StrCat("not a Megatron index: ", why)); }

}  // namespace

MegatronType MegatronTypeOf(std::uint32_t vocab_size) {
  return vocab_size < kSmallVocabulary ? MegatronType::kUint16 : MegatronType::kInt32;
}

std::uint32_t MegatronIdBytes(MegatronType type) { return type == MegatronType::kUint16 ? 2 : 4; }

Status MegatronIndexWriter::Finish(const std::function<Status(std::string_view)>& put) const {
  std::string part(kIndexMagic);
  PutU64(part, kIndexVersion);
  part.push_back(static_cast<char>(type_));
  PutU64(part, lengths_.size());
  PutU64(part, lengths_.size() + 1);
  const auto put_each = [&](std::size_t count, const auto& append) -> Status {
    for (std::size_t at = 0; at < count; ++at) {
      append(at);
      if (part.size() < kPartSequences * kNumberBytes) continue;
      RETURN_IF_ERROR(put(part));
      part.clear();
    }
    return {};
  };
  RETURN_IF_ERROR(put_each(lengths_.size(), [&](std::size_t at) { PutU32(part, lengths_[at]); }));
  std::uint64_t pointer = 0;
  RETURN_IF_ERROR(put_each(lengths_.size(), [&](std::size_t at) {
    PutU64(part, pointer);
    pointer += std::uint64_t{lengths_[at]} * MegatronIdBytes(type_);
  }));
  RETURN_IF_ERROR(put_each(lengths_.size() + 1, [&](std::size_t at) { PutU64(part, at); }));
  return put(part);
}

Result<MegatronIndexReader> MegatronIndexReader::Open(const ByteFile& file, std::stop_token stop) {
  MegatronIndexReader reader(file, std::move(stop));
  ASSIGN_OR_RETURN(const std::string header,
                   ReadBytes(file, 0, std::min(file.size(), kIndexHeaderBytes), reader.stop_));
  Decoder in(header);
  if (in.Bytes(kIndexMagic.size()) != kIndexMagic) return Wrong("it does not begin with MMIDIDX");
  if (const std::uint64_t version = in.U64(); !in.ok() || version != kIndexVersion)
    return Wrong(StrCat("version ", version, ", not ", kIndexVersion));
  const std::uint8_t code = in.U8();
  reader.type_ = static_cast<MegatronType>(code);
  if (reader.type_ != MegatronType::kInt32 && reader.type_ != MegatronType::kUint16)
    return Wrong(StrCat("type ", code, ", neither int32 (4) nor uint16 (8)"));
  const std::uint64_t sequences = in.U64(), documents = in.U64();
  const std::uint64_t left = file.size() - header.size();
  constexpr std::uint64_t kSequenceBytes = kLengthBytes + kNumberBytes;
  if (!in.ok() || sequences > left / kSequenceBytes || documents > left / kNumberBytes ||
      left != kSequenceBytes * sequences + kNumberBytes * documents)
    return Wrong(StrCat(file.size(), " bytes are not those of ", sequences, " sequences and ", documents,
                        " document indices"));
  if (documents != sequences + 1)
    return Wrong(
        StrCat(documents, " document indices, where each of ", sequences, " sequences should be a document"));
  reader.sequences_ = sequences;
  return reader;
}

Result<std::optional<std::uint32_t>> MegatronIndexReader::Next() {
  if (next_ == part_begin_ + part_.size()) RETURN_IF_ERROR(ReadPart());
  if (next_ == sequences_) return std::optional<std::uint32_t>();
  return std::optional(part_[next_++ - part_begin_]);
}

/// The last part is empty, and has the last document index.
Status MegatronIndexReader::ReadPart() {
  const std::uint64_t count = std::min(kPartSequences, sequences_ - next_);
  const std::uint64_t pointers = kIndexHeaderBytes + kLengthBytes * sequences_;
  const std::uint64_t documents = pointers + kNumberBytes * sequences_;
  const auto read = [&](std::uint64_t begin, std::uint64_t width, std::uint64_t numbers) {
    return ReadBytes(*file_, begin + width * next_, width * numbers, stop_);
  };
  ASSIGN_OR_RETURN(const std::string lengths, read(kIndexHeaderBytes, kLengthBytes, count));
  ASSIGN_OR_RETURN(const std::string begins, read(pointers, kNumberBytes, count));
  ASSIGN_OR_RETURN(const std::string indices,
                   read(documents, kNumberBytes, std::max(count, std::uint64_t{1})));
  Decoder length(lengths), begin(begins), index(indices);
  part_.clear();
  part_begin_ = next_;
  for (std::uint64_t at = next_; at < next_ + count; ++at) {
    part_.push_back(length.U32());
    if (part_.back() > kMostOfMegatronSequence)
      return Wrong(StrCat("sequence ", at, " has a length below 0"));
    if (const std::uint64_t found = begin.U64(); found != pointer_)
      return Wrong(StrCat("sequence ", at, " begins at byte ", found, ", not ", pointer_));
    pointer_ += std::uint64_t{part_.back()} * MegatronIdBytes(type_);
  }
  for (std::uint64_t at = next_; index.left() > 0; ++at)
    if (const std::uint64_t found = index.U64(); found != at)
      return Wrong(StrCat("document index ", at, " is ", found, ", where each sequence is a document"));
  return {};
}

}  // namespace pipeline
