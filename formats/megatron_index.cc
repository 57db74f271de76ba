#include "formats/megatron_index.h"

#include "base/str.h"
#include "formats/coding.h"

namespace pipeline {

namespace {

using namespace std::string_view_literals;

constexpr std::string_view kIndexMagic = "MMIDIDX\0\0"sv;
constexpr std::uint64_t kIndexVersion = 1;
constexpr std::size_t kIndexHeaderBytes = 34;
constexpr std::uint32_t kSmallVocabulary = 65500;

Status Wrong(std::string_view why) { return Status(Code::kDataLoss, StrCat("not a Megatron index: ", why)); }

}  // namespace

MegatronType MegatronTypeOf(std::uint32_t vocab_size) {
  return vocab_size < kSmallVocabulary ? MegatronType::kUint16 : MegatronType::kInt32;
}

std::uint32_t MegatronIdBytes(MegatronType type) { return type == MegatronType::kUint16 ? 2 : 4; }

MegatronIndex MegatronRows(MegatronType type, std::uint64_t rows, std::uint32_t length) {
  MegatronIndex index = {type, std::vector<std::uint32_t>(rows, length), {}};
  for (std::uint64_t row = 0; row <= rows; ++row) index.documents.push_back(row);
  return index;
}

std::string EncodeMegatronIndex(const MegatronIndex& index) {
  std::string out(kIndexMagic);
  out.reserve(kIndexHeaderBytes + 12 * index.lengths.size() + 8 * index.documents.size());
  PutU64(out, kIndexVersion);
  out.push_back(static_cast<char>(index.type));
  PutU64(out, index.lengths.size());
  PutU64(out, index.documents.size());
  for (const std::uint32_t length : index.lengths) PutU32(out, length);
  std::uint64_t pointer = 0;
  for (const std::uint32_t length : index.lengths) {
    PutU64(out, pointer);
    pointer += std::uint64_t{length} * MegatronIdBytes(index.type);
  }
  for (const std::uint64_t document : index.documents) PutU64(out, document);
  return out;
}

Result<MegatronIndex> ParseMegatronIndex(std::string_view bytes) {
  Decoder in(bytes);
  if (in.Bytes(kIndexMagic.size()) != kIndexMagic) return Wrong("it does not begin with MMIDIDX");
  if (const std::uint64_t version = in.U64(); !in.ok() || version != kIndexVersion)
    return Wrong(StrCat("version ", version, ", not ", kIndexVersion));
  const std::uint8_t code = in.U8();
  MegatronIndex index = {static_cast<MegatronType>(code), {}, {}};
  if (index.type != MegatronType::kInt32 && index.type != MegatronType::kUint16)
    return Wrong(StrCat("type ", code, ", neither int32 (4) nor uint16 (8)"));
  const std::uint64_t sequences = in.U64(), documents = in.U64();
  if (!in.ok() || sequences > in.left() / 12 || documents > in.left() / 8 ||
      in.left() != 12 * sequences + 8 * documents)
    return Wrong(StrCat(bytes.size(), " bytes are not those of ", sequences, " sequences and ", documents,
                        " document indices"));
  for (std::uint64_t at = 0; at < sequences; ++at) index.lengths.push_back(in.U32());
  std::uint64_t pointer = 0;
  for (std::uint64_t at = 0; at < sequences; ++at) {
    if (index.lengths[at] > INT32_MAX) return Wrong(StrCat("sequence ", at, " has a length below 0"));
    if (const std::uint64_t found = in.U64(); found != pointer)
      return Wrong(StrCat("sequence ", at, " begins at byte ", found, ", not ", pointer));
    pointer += std::uint64_t{index.lengths[at]} * MegatronIdBytes(index.type);
  }
  for (std::uint64_t at = 0; at < documents; ++at) {
    index.documents.push_back(in.U64());
    if (at == 0 ? index.documents[0] != 0 : index.documents[at] < index.documents[at - 1])
      return Wrong(StrCat("document index ", at, " is ", index.documents[at]));
  }
  if (documents == 0 || index.documents.back() != sequences)
    return Wrong(StrCat("its documents do not end with sequence ", sequences));
  return index;
}

}  // namespace pipeline
