#include "formats/packed.h"

#include <algorithm>
#include <bit>

#include "base/str.h"
#include "formats/coding.h"
#include "formats/tf_example.h"
#include "formats/tfrecord.h"

namespace pipeline {

namespace {

constexpr std::size_t kEntryBytes = 20;
constexpr std::string_view kShardSuffix = ".tfrecord";
constexpr std::string_view kIndexSuffix = ".idx";
constexpr int kDigits = 5;
constexpr std::uint32_t kLeastLength = 2;  // a row has a target

// Tags of the Example around the one list: a field of bytes, one of them being int64_list.
constexpr char kFirst = 1 << 3 | 2;   // features, entry, key, values
constexpr char kSecond = 2 << 3 | 2;  // an entry's value
constexpr char kInt64s = 3 << 3 | 2;

constexpr std::size_t VarintSize(std::uint64_t number) {
  return (static_cast<std::size_t>(std::bit_width(number | 1)) + 6) / 7;
}
/// Of a field whose tag is one byte.
constexpr std::size_t SubSize(std::size_t bytes) { return 1 + VarintSize(bytes) + bytes; }

void PutSub(std::string& out, char tag, std::size_t bytes) {
  out.push_back(tag);
  PutVarint(out, bytes);
}

std::string ObjectName(std::string_view split, std::uint32_t shard, std::uint32_t shards,
                       std::string_view suffix) {
  return StrCat(split, '-', ZeroPadded(shard, kDigits), "-of-", ZeroPadded(shards, kDigits), suffix);
}

Status NoRow(std::string_view why) { return Status(Code::kDataLoss, StrCat("not a packed row: ", why)); }

}  // namespace

void AppendPackedRow(std::string& out, std::span<const std::uint32_t> ids) {
  std::size_t values = 0;
  for (const std::uint32_t id : ids) values += VarintSize(id);
  const std::size_t list = SubSize(values);
  const std::size_t feature = SubSize(list);
  const std::size_t entry = SubSize(kPackedFeature.size()) + SubSize(feature);
  const std::size_t features = SubSize(entry);
  AppendTfRecordHeader(out, SubSize(features));
  const std::size_t begin = out.size();
  PutSub(out, kFirst, features);
  PutSub(out, kFirst, entry);
  PutSub(out, kFirst, kPackedFeature.size());
  out.append(kPackedFeature);
  PutSub(out, kSecond, feature);
  PutSub(out, kInt64s, list);
  PutSub(out, kFirst, values);
  for (const std::uint32_t id : ids) PutVarint(out, id);
  AppendTfRecordFooter(out, begin);
}

Status ParsePackedRow(std::string_view example, std::vector<std::uint32_t>& ids) {
  ids.clear();
  ASSIGN_OR_RETURN(const TfExample features, ParseTfExample(example));
  if (features.size() != 1 || features.begin()->first != kPackedFeature) {
    std::string names;
    for (const auto& [name, feature] : features) names += StrCat(names.empty() ? "" : ", ", name);
    return NoRow(StrCat("its features are {", names, "}, not {", kPackedFeature, "}"));
  }
  const auto* const numbers = std::get_if<TfInt64List>(&features.begin()->second);
  if (numbers == nullptr) return NoRow(StrCat("its feature ", kPackedFeature, " is no int64 list"));
  ids.reserve(numbers->size());
  for (const std::int64_t number : *numbers) {
    if (number < 0 || number > UINT32_MAX)
      return NoRow(StrCat("value ", ids.size(), " is ", number, ", which is no id"));
    ids.push_back(static_cast<std::uint32_t>(number));
  }
  return {};
}

void AppendPackedRowFacts(std::string& out, const PackedRowFacts& facts) {
  PutU32(out, facts.length);
  PutU32(out, facts.bytes);
  PutU32(out, facts.chars);
}

Result<std::vector<PackedIndexEntry>> ParsePackedIndex(std::string_view bytes) {
  if (bytes.size() % kEntryBytes != 0)
    return Status(Code::kDataLoss, StrCat("not an index: it has ", bytes.size(), " bytes, no multiple of ",
                                          kEntryBytes, ": truncated"));
  std::vector<PackedIndexEntry> entries(bytes.size() / kEntryBytes);
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

std::string PackedShardName(std::string_view split, std::uint32_t shard, std::uint32_t shards) {
  return ObjectName(split, shard, shards, kShardSuffix);
}

std::string PackedIndexName(std::string_view split, std::uint32_t shard, std::uint32_t shards) {
  return ObjectName(split, shard, shards, kIndexSuffix);
}

std::string PackedIndexOf(std::string_view object) {
  if (!object.ends_with(kShardSuffix)) return {};
  return StrCat(object.substr(0, object.size() - kShardSuffix.size()), kIndexSuffix);
}

}  // namespace pipeline
