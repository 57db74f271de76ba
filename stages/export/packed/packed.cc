#include "stages/export/packed/packed.h"

#include <array>
#include <bit>

#include "base/str.h"
#include "formats/coding.h"
#include "formats/megatron_index.h"
#include "formats/tf_example.h"
#include "formats/tfrecord.h"

namespace pipeline {

namespace {

constexpr int kDigits = 5;
constexpr std::uint32_t kLeastLength = 2;  // a row has at least one target

// Tags of the messages around the list of an Example: fields of bytes; the last one is int64_list.
constexpr char kFirst = 1 << 3 | 2;   // features, entry, key, values
constexpr char kSecond = 2 << 3 | 2;  // an entry's value
constexpr char kInt64s = 3 << 3 | 2;

constexpr std::size_t VarintSize(std::uint64_t number) {
  return (static_cast<std::size_t>(std::bit_width(number | 1)) + 6) / 7;
}
/// Returns the size of a field whose tag is one byte.
constexpr std::size_t SubSize(std::size_t bytes) { return 1 + VarintSize(bytes) + bytes; }

void PutSub(std::string& out, char tag, std::size_t bytes) {
  out.push_back(tag);
  PutVarint(out, bytes);
}

/// The properties of a value of the key `encoding`.
struct EncodingFacts {
  PackedEncoding encoding;
  std::string_view name;
  std::string_view shard, index;  // suffixes
  bool folders;                   // each split has a folder
};
constexpr std::array<EncodingFacts, 5> kEncodings = {{
    {PackedEncoding::kExample, "example", ".tfrecord", ".idx", false},
    {PackedEncoding::kRaw16, "raw16", ".bin", ".rows", false},
    {PackedEncoding::kRaw32, "raw32", ".bin", ".rows", false},
    {PackedEncoding::kMmap, "mmap", ".bin", ".idx", true},
    {PackedEncoding::kArrayRecord, "array_record", ".array_record", ".rows", false},
}};

const EncodingFacts& FactsOf(PackedEncoding encoding) {
  return kEncodings[static_cast<std::size_t>(encoding)];
}

std::string ObjectName(std::string_view split, std::uint32_t shard, std::uint32_t shards, bool folder,
                       std::string_view suffix) {
  return StrCat(folder ? split : "", folder ? "/" : "", split, '-', ZeroPadded(shard, kDigits), "-of-",
                ZeroPadded(shards, kDigits), suffix);
}

/// The lengths inside the entry of one feature, from the inside out.
struct EntrySize {
  EntrySize() = default;
  EntrySize(std::string_view name, std::span<const std::uint32_t> numbers) {
    for (const std::uint32_t number : numbers) values += VarintSize(number);
    list = SubSize(values);
    feature = SubSize(list);
    entry = SubSize(name.size()) + SubSize(feature);
  }
  std::size_t values = 0, list = 0, feature = 0, entry = 0;
};

void PutEntry(std::string& out, std::string_view name, const EntrySize& size,
              std::span<const std::uint32_t> numbers) {
  PutSub(out, kFirst, size.entry);
  PutSub(out, kFirst, name.size());
  out.append(name);
  PutSub(out, kSecond, size.feature);
  PutSub(out, kInt64s, size.list);
  PutSub(out, kFirst, size.values);
  const std::size_t begin = out.size();
  out.resize(begin + size.values);
  char* at = out.data() + begin;
  for (std::uint32_t number : numbers) {  // PutVarint would look for room at each byte
    for (; number >= 0x80; number >>= 7) *at++ = static_cast<char>(number | 0x80);
    *at++ = static_cast<char>(number);
  }
}

/// The features of a row, and the size of the Example that they make. The arguments outlive it.
class RowFeatures {
 public:
  RowFeatures(std::span<const std::uint32_t> ids, const PackedSegments* segments,
              std::span<const std::uint32_t> weights) {
    if (segments != nullptr) {  // sorted by name
      Add(kPackedPositions, segments->positions);
      Add(kPackedSegmentIds, segments->ids);
    }
    Add(kPackedFeature, ids);
    if (!weights.empty()) Add(kPackedWeights, weights);
  }

  std::size_t bytes() const { return SubSize(entries_); }
  void Put(std::string& out) const {
    PutSub(out, kFirst, entries_);
    for (const Feature& feature : features_)
      if (!feature.name.empty()) PutEntry(out, feature.name, feature.size, feature.numbers);
  }

 private:
  struct Feature {
    std::string_view name = {};  // empty: absent
    std::span<const std::uint32_t> numbers = {};
    EntrySize size = {};
  };

  void Add(std::string_view name, std::span<const std::uint32_t> numbers) {
    Feature& feature = features_[count_++];
    feature = {name, numbers, EntrySize(name, numbers)};
    entries_ += SubSize(feature.size.entry);
  }

  std::array<Feature, 4> features_;
  std::size_t count_ = 0;
  std::size_t entries_ = 0;  // their bytes
};

Status NoRow(std::string_view why) { return Status(Code::kDataLoss, StrCat("not a packed row: ", why)); }

/// `noun` names one of the numbers.
Status TakeNumbers(const TfExample& features, std::string_view name, std::string_view noun,
                   std::vector<std::uint32_t>& taken) {
  taken.clear();
  const auto* const numbers = std::get_if<TfInt64List>(&features.at(name));
  if (numbers == nullptr) return NoRow(StrCat("its feature ", name, " is no int64 list"));
  taken.reserve(numbers->size());
  for (const std::int64_t number : *numbers) {
    if (number < 0 || number > UINT32_MAX)
      return NoRow(StrCat("value ", taken.size(), " is ", number, ", which is no ", noun));
    taken.push_back(static_cast<std::uint32_t>(number));
  }
  return {};
}

}  // namespace

std::string_view PackedEncodingName(PackedEncoding encoding) { return FactsOf(encoding).name; }

std::optional<PackedEncoding> PackedEncodingOf(std::string_view name) {
  for (const EncodingFacts& facts : kEncodings)
    if (facts.name == name) return facts.encoding;
  return std::nullopt;
}

std::uint32_t PackedIdBytes(PackedEncoding encoding, std::uint32_t vocab_size) {
  switch (encoding) {
    case PackedEncoding::kRaw16: return 2;
    case PackedEncoding::kRaw32: return 4;
    case PackedEncoding::kMmap: return MegatronIdBytes(MegatronTypeOf(vocab_size));
    case PackedEncoding::kExample:
    case PackedEncoding::kArrayRecord: break;
  }
  return 0;
}

PackedSegments SegmentsOf(std::span<const std::uint32_t> begins, std::uint32_t length, std::size_t ids) {
  PackedSegments segments = {std::vector<std::uint32_t>(ids), std::vector<std::uint32_t>(ids)};
  std::uint32_t number = 1, begin = 0;
  for (std::uint32_t at = 0; at < length && at < ids; ++at) {
    if (number <= begins.size() && begins[number - 1] == at) ++number, begin = at;
    segments.ids[at] = number;
    segments.positions[at] = at - begin;
  }
  return segments;
}

void AppendPackedExample(std::string& out, std::span<const std::uint32_t> ids, const PackedSegments* segments,
                         std::span<const std::uint32_t> weights) {
  RowFeatures(ids, segments, weights).Put(out);
}

void AppendPackedRow(std::string& out, std::span<const std::uint32_t> ids, const PackedSegments* segments,
                     std::span<const std::uint32_t> weights) {
  const RowFeatures features(ids, segments, weights);
  AppendTfRecordHeader(out, features.bytes());
  const std::size_t begin = out.size();
  features.Put(out);
  AppendTfRecordFooter(out, begin);
}

Status ParsePackedRow(std::string_view example, std::vector<std::uint32_t>& ids, PackedSegments* segments,
                      std::vector<std::uint32_t>* weights) {
  ids.clear();
  ASSIGN_OR_RETURN(const TfExample features, ParseTfExample(example));
  std::string wanted, names;
  if (segments != nullptr) wanted = StrCat(kPackedPositions, ", ", kPackedSegmentIds, ", ");
  wanted += kPackedFeature;
  if (weights != nullptr) wanted += StrCat(", ", kPackedWeights);
  for (const auto& [name, feature] : features) names += StrCat(names.empty() ? "" : ", ", name);
  if (names != wanted) return NoRow(StrCat("its features are {", names, "}, not {", wanted, "}"));
  RETURN_IF_ERROR(TakeNumbers(features, kPackedFeature, "id", ids));
  if (weights != nullptr) RETURN_IF_ERROR(TakeNumbers(features, kPackedWeights, "weight", *weights));
  if (segments == nullptr) return {};
  RETURN_IF_ERROR(TakeNumbers(features, kPackedSegmentIds, "id", segments->ids));
  return TakeNumbers(features, kPackedPositions, "id", segments->positions);
}

void AppendRawIds(std::string& out, std::span<const std::uint32_t> ids, std::uint32_t id_bytes) {
  const std::size_t begin = out.size();
  out.resize(begin + ids.size() * id_bytes);
  char* at = out.data() + begin;
  for (const std::uint32_t id : ids)
    for (std::uint32_t byte = 0; byte < id_bytes; ++byte) *at++ = static_cast<char>(id >> (8 * byte));
}

Status ParseRawIds(std::string_view bytes, std::uint32_t id_bytes, std::vector<std::uint32_t>& ids) {
  ids.clear();
  if (bytes.size() % id_bytes != 0)
    return NoRow(StrCat(bytes.size(), " bytes are no multiple of ", id_bytes));
  ids.reserve(bytes.size() / id_bytes);
  for (std::size_t at = 0; at < bytes.size(); at += id_bytes) {
    std::uint32_t id = 0;
    for (std::uint32_t byte = 0; byte < id_bytes; ++byte)
      id |= std::uint32_t{static_cast<std::uint8_t>(bytes[at + byte])} << (8 * byte);
    ids.push_back(id);
  }
  return {};
}

void AppendPackedRowFacts(std::string& out, const PackedRowFacts& facts) {
  PutU32(out, facts.length);
  PutU32(out, facts.bytes);
  PutU32(out, facts.chars);
}

Result<std::vector<PackedIndexEntry>> ParsePackedIndex(std::string_view bytes) {
  if (bytes.size() % kPackedEntryBytes != 0)
    return Status(Code::kDataLoss, StrCat("not an index: it has ", bytes.size(), " bytes, no multiple of ",
                                          kPackedEntryBytes, ": truncated"));
  std::vector<PackedIndexEntry> entries(bytes.size() / kPackedEntryBytes);
  Decoder in(bytes);
  for (std::size_t at = 0; at < entries.size(); ++at) {
    PackedIndexEntry& entry = entries[at];
    entry.offset = in.U64();
    entry.facts = {in.U32(), in.U32(), in.U32()};
    const auto wrong = [at](std::string_view why) {
      return Status(Code::kDataLoss, StrCat("not an index: entry ", at, ": ", why));
    };
    if (at == 0 ? entry.offset != 0 : entry.offset <= entries[at - 1].offset)
      return wrong(StrCat("offset ", entry.offset, " does not follow the one before"));
    if (entry.facts.length < kLeastLength)
      return wrong(StrCat("length ", entry.facts.length, ", where a row has at least ", kLeastLength));
  }
  return entries;
}

std::string PackedShardName(std::string_view split, std::uint32_t shard, std::uint32_t shards,
                            PackedEncoding encoding) {
  const EncodingFacts& facts = FactsOf(encoding);
  return ObjectName(split, shard, shards, facts.folders, facts.shard);
}

std::string PackedIndexName(std::string_view split, std::uint32_t shard, std::uint32_t shards,
                            PackedEncoding encoding) {
  const EncodingFacts& facts = FactsOf(encoding);
  return ObjectName(split, shard, shards, facts.folders, facts.index);
}

std::string PackedIndexOf(std::string_view object, PackedEncoding encoding) {
  const EncodingFacts& facts = FactsOf(encoding);
  if (!object.ends_with(facts.shard)) return {};
  return StrCat(object.substr(0, object.size() - facts.shard.size()), facts.index);
}

}  // namespace pipeline
