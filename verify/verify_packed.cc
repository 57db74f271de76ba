#include "verify/verify_packed.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/str.h"
#include "formats/array_record.h"
#include "formats/megatron_index.h"
#include "formats/packed.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kMaxIndexBytes = std::uint64_t{1} << 30;

const StoredObject* FindObject(const std::vector<StoredObject>& objects, std::string_view name) {
  const auto found = std::find_if(objects.begin(), objects.end(),
                                  [&](const StoredObject& object) { return object.name == name; });
  return found == objects.end() ? nullptr : &*found;
}

const PackedShard* FindShard(const PackedInfo& info, const ManifestShard& shard) {
  for (const PackedSplit& split : info.splits)
    for (const PackedShard& packed : split.shards)
      if (split.name == shard.split && packed.object == shard.object.name) return &packed;
  return nullptr;
}

/// What is wrong with the rows of one shard. One thread at a time.
class RowCheck {
 public:
  /// `index` is null where it cannot be used; what can be said without it is said.
  RowCheck(const PackedInfo& info, const std::vector<PackedIndexEntry>* index) : info_(info), index_(index) {}

  std::string WrongWith(const ShardRecord& record) {
    const std::uint32_t id_bytes = PackedIdBytes(info_.encoding, info_.tokenizer.vocab_size);
    const Status parsed = id_bytes > 0
                              ? ParseRawIds(record.bytes, id_bytes, ids_)
                              : ParsePackedRow(record.bytes, ids_, info_.segments ? &segments_ : nullptr);
    if (!parsed.ok()) return std::string(parsed.message());
    if (ids_.size() != info_.seq_len + std::size_t{1})
      return StrCat("has ", ids_.size(), " ids where each row has ", info_.seq_len + std::size_t{1});
    for (std::size_t at = 0; at < ids_.size(); ++at)
      if (ids_[at] >= info_.tokenizer.vocab_size)
        return StrCat("id ", at, " is ", ids_[at], " where the tokenizer has ", info_.tokenizer.vocab_size,
                      " pieces");
    if (info_.segments)
      if (std::string wrong = WrongWithSegments(); !wrong.empty()) return wrong;
    return index_ == nullptr ? std::string() : WrongWithEntry(record);
  }

 private:
  std::string WrongWithSegments() const {
    if (segments_.ids.size() != ids_.size() || segments_.positions.size() != ids_.size())
      return StrCat("has ", segments_.ids.size(), " segment ids and ", segments_.positions.size(),
                    " positions for ", ids_.size(), " ids");
    std::uint32_t segment = 0, position = 0;
    bool filled = false;
    for (std::size_t at = 0; at < ids_.size(); ++at) {
      const std::uint32_t id = segments_.ids[at];
      filled = filled || (at > 0 && id == 0);
      position = filled || id != segment ? 0 : position + 1;
      if (filled ? id != 0 : id != segment && id != segment + 1)
        return StrCat("segment id ", at, " is ", id, " behind ", segment);
      if (segments_.positions[at] != position)
        return StrCat("position ", at, " is ", segments_.positions[at], " where it must be ", position);
      segment = id;
    }
    return {};
  }

  std::string WrongWithEntry(const ShardRecord& record) const {
    if (record.number >= index_->size()) return "is not in the index";
    const PackedIndexEntry& entry = (*index_)[record.number];
    if (entry.offset != record.offset) return StrCat("the index says that it is at byte ", entry.offset);
    if (entry.facts.length > ids_.size())
      return StrCat("the index says that its length is ", entry.facts.length);
    for (std::size_t at = entry.facts.length; at < ids_.size(); ++at)
      if (ids_[at] != info_.fill_id)
        return StrCat("id ", at, " is ", ids_[at], " where the index says that the row is filled from id ",
                      entry.facts.length);
    return {};
  }

  const PackedInfo& info_;
  const std::vector<PackedIndexEntry>* const index_;
  std::vector<std::uint32_t> ids_;
  PackedSegments segments_;
};

using WrongWithRecord = std::function<std::string(const ShardRecord& record)>;

/// Rows that are nothing but ids, of `row_bytes` each.
Status VerifyRawRows(const ByteFile& file, const ManifestShard& shard, std::uint64_t row_bytes,
                     const WrongWithRecord& wrong_with, const std::stop_token& stop, Findings& findings,
                     ReadCounts& counts) {
  RETURN_IF_ERROR(VerifyBytes(file, shard.object, stop, findings, counts));
  const std::uint64_t rows = file.size() / row_bytes;
  if (rows != shard.records || file.size() % row_bytes != 0)
    findings.Add(StrCat("has ", file.size(), " bytes, not those of the ", shard.records,
                        " rows of the manifest, ", row_bytes, " each"));
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader, file.Open(0, stop));
  std::string bytes(row_bytes, '\0');
  for (std::uint64_t row = 0; row < rows; ++row) {
    RETURN_IF_ERROR(ReadExactly(*reader, bytes));
    ++counts.records[shard.split];
    if (const std::string wrong = wrong_with({row, row * row_bytes, bytes}); !wrong.empty())
      findings.Add(StrCat("record ", row, " at byte ", row * row_bytes, ": ", wrong));
  }
  return {};
}

/// Each record of an ArrayRecord file, also behind a damaged one. Offsets are those of its index.
Status VerifyArrayRecords(const ByteFile& file, const ManifestShard& shard, const WrongWithRecord& wrong_with,
                          const std::stop_token& stop, Findings& findings, ReadCounts& counts) {
  RETURN_IF_ERROR(VerifyBytes(file, shard.object, stop, findings, counts));
  const Result<std::unique_ptr<ArrayRecordReader>> reader = ArrayRecordReader::Open(file, stop);
  if (!reader.ok()) {
    if (reader.status().code() == Code::kCancelled) return reader.status();
    findings.Add(reader.status().message());
    return {};
  }
  if ((*reader)->records() != shard.records)
    findings.Add(StrCat("has ", (*reader)->records(), " records where the manifest says ", shard.records));
  std::uint64_t offset = 0;
  for (std::uint64_t record = 0; record < (*reader)->records(); ++record) {
    const std::uint64_t at = (*reader)->offset(), size = (*reader)->size();
    const Result<std::optional<std::string_view>> next = (*reader)->Next();
    if (next.status().code() == Code::kCancelled) return next.status();
    std::string wrong(next.status().message());
    if (next.ok()) {
      ++counts.records[shard.split];
      wrong = wrong_with({record, offset, **next});
    }
    if (!wrong.empty()) findings.Add(StrCat("record ", record, " at byte ", at, ": ", wrong));
    offset += size;
  }
  return {};
}

/// The index of a Megatron data set.
Status VerifyMegatron(Store& store, const ManifestShard& shard, const PackedInfo& info,
                      const std::stop_token& stop, Findings& findings) {
  const std::string name = PackedIndexOf(shard.object.name, info.encoding);
  const Result<std::string> bytes = ReadObject(store, name, kMaxIndexBytes, stop);
  if (bytes.status().code() == Code::kCancelled) return bytes.status();
  const Result<MegatronIndex> index = bytes.ok() ? ParseMegatronIndex(*bytes) : bytes.status();
  if (!index.ok())
    findings.Add(StrCat("its index ", name, " cannot be used: ", index.status().message()));
  else if (index->lengths.size() != shard.records ||
           *index != MegatronRows(MegatronTypeOf(info.tokenizer.vocab_size), shard.records, info.seq_len + 1))
    findings.Add(
        StrCat("its index ", name, " is not that of ", shard.records, " rows of ", info.seq_len + 1, " ids"));
  return {};
}

void CompareTotals(const PackedTotals& found, const PackedTotals& expected, Findings& findings) {
  const auto compare = [&](std::string_view name, std::uint64_t is, std::uint64_t said) {
    if (is != said)
      findings.Add(StrCat("its index counts ", is, " ", name, " where ", kPackedInfoFile, " says ", said));
  };
  compare("rows", found.rows, expected.rows);
  compare("tokens", found.tokens, expected.tokens);
  compare("bytes", found.bytes, expected.bytes);
  compare("characters", found.chars, expected.chars);
}

/// The index of `shard`; absent, with a finding, where it is none.
Result<std::optional<std::vector<PackedIndexEntry>>> ReadIndex(Store& store, const ManifestShard& shard,
                                                               PackedEncoding encoding,
                                                               const std::stop_token& stop,
                                                               Findings& findings) {
  const std::string name = PackedIndexOf(shard.object.name, encoding);
  const Result<std::string> bytes = ReadObject(store, name, kMaxIndexBytes, stop);
  if (bytes.status().code() == Code::kCancelled) return bytes.status();
  Result<std::vector<PackedIndexEntry>> index = bytes.ok() ? ParsePackedIndex(*bytes) : bytes.status();
  if (index.ok()) return std::optional(std::move(index).value());
  findings.Add(StrCat("its index ", name, " cannot be used: ", index.status().message()));
  return std::optional<std::vector<PackedIndexEntry>>();
}

PackedEncoding EncodingOf(const Manifest& manifest) {
  return PackedEncodingOf(manifest.lineage.back().config["encoding"].AsString())
      .value_or(PackedEncoding::kExample);
}

}  // namespace

void VerifyPackedManifest(const Manifest& manifest, Findings& findings) {
  const PackedEncoding encoding = EncodingOf(manifest);
  const ManifestShard* before = nullptr;
  for (const ManifestShard& shard : manifest.shards) {
    const std::string& name = shard.object.name;
    const bool follows = before != nullptr && before->split == shard.split;
    if (shard.number != (follows ? before->number + 1 : 0) || (follows && shard.count != before->count) ||
        (!follows && before != nullptr && before->number + 1 != before->count))
      findings.Add(StrCat("shard ", name, ": number ", shard.number, " of ", shard.count,
                          " does not follow the one before"));
    if (const std::string expected = PackedShardName(shard.split, shard.number, shard.count, encoding);
        name != expected)
      findings.Add(StrCat("shard ", name, ": its name is not ", expected));
    if (FindObject(manifest.sidecars, PackedIndexOf(name, encoding)) == nullptr)
      findings.Add(StrCat("shard ", name, ": names no index of it"));
    before = &shard;
  }
  if (before != nullptr && before->number + 1 != before->count)
    findings.Add(StrCat("split ", before->split, ": has ", before->number + 1, " shards of ", before->count));
  for (const std::string_view needed : {kPackedInfoFile, kPackedModelFile})
    if (FindObject(manifest.sidecars, needed) == nullptr) findings.Add(StrCat("names no ", needed));
}

void VerifyPackedInfo(const PackedInfo& info, const Manifest& manifest, Findings& findings) {
  const Json& config = manifest.lineage.back().config;
  if (const std::int64_t seq_len = config["seq_len"].AsInt(); seq_len != std::int64_t{info.seq_len})
    findings.Add(StrCat("seq_len is ", info.seq_len, " where the manifest says ", seq_len));
  const auto compare = [&](std::string_view key, const Json& is, Json was, const Json& fallback) {
    if (was.is_null()) was = fallback;  // of before the key was there
    if (is != was) findings.Add(StrCat(key, " is ", is.Dump(), " where the manifest says ", was.Dump()));
  };
  compare("encoding", PackedEncodingName(info.encoding), config["encoding"], "example");
  compare("packing", info.best_fit ? kBestFitPacking : kStreamPacking, config["packing"], kStreamPacking);
  compare("segments", info.segments, config["segments"], false);
  const StoredObject* const model = FindObject(manifest.sidecars, info.tokenizer.model);
  if (model == nullptr)
    findings.Add(StrCat("the tokenizer's model ", info.tokenizer.model, " is not in the manifest"));
  else if (model->digest != info.tokenizer.model_digest)
    findings.Add(StrCat("the ids were made by a tokenizer with the digest ",
                        info.tokenizer.model_digest.ToHex(), ", and that of ", model->name, " is ",
                        model->digest.ToHex()));
  std::size_t known = 0;
  for (const ManifestShard& shard : manifest.shards) {
    const PackedShard* const packed = FindShard(info, shard);
    if (packed == nullptr) {
      findings.Add(StrCat("shard ", shard.object.name, ": missing"));
      continue;
    }
    ++known;
    if (packed->totals.rows != shard.records)
      findings.Add(StrCat("shard ", shard.object.name, ": has ", packed->totals.rows,
                          " rows where the manifest says ", shard.records));
    if (packed->index != PackedIndexOf(shard.object.name, info.encoding))
      findings.Add(StrCat("shard ", shard.object.name, ": its index is not named ", packed->index));
  }
  std::size_t named = 0;
  for (const PackedSplit& split : info.splits) named += split.shards.size();
  if (named > known)
    findings.Add(StrCat("names ", named, " shards, ", named - known, " of which are not in the manifest"));
}

Status VerifyPackedShard(Store& store, const ByteFile& file, const ManifestShard& shard,
                         const PackedInfo& info, const std::stop_token& stop, Findings& findings,
                         ReadCounts& counts) {
  const bool mmap = info.encoding == PackedEncoding::kMmap;
  std::optional<std::vector<PackedIndexEntry>> index;
  if (!mmap) {
    ASSIGN_OR_RETURN(index, ReadIndex(store, shard, info.encoding, stop, findings));
  }
  RowCheck check(info, index ? &*index : nullptr);
  const auto wrong = [&check](const ShardRecord& record) { return check.WrongWith(record); };
  if (const std::uint64_t id_bytes = PackedIdBytes(info.encoding, info.tokenizer.vocab_size))
    RETURN_IF_ERROR(VerifyRawRows(file, shard, id_bytes * (std::uint64_t{info.seq_len} + 1), wrong, stop,
                                  findings, counts));
  else if (info.encoding == PackedEncoding::kArrayRecord)
    RETURN_IF_ERROR(VerifyArrayRecords(file, shard, wrong, stop, findings, counts));
  else
    RETURN_IF_ERROR(VerifyRecords(file, shard, wrong, stop, findings, counts));
  if (mmap) return VerifyMegatron(store, shard, info, stop, findings);
  if (!index) return {};
  PackedTotals totals;
  totals.rows = index->size();
  for (const PackedIndexEntry& entry : *index) {
    totals.tokens += entry.facts.length;
    totals.bytes += entry.facts.bytes;
    totals.chars += entry.facts.chars;
  }
  if (const PackedShard* const packed = FindShard(info, shard))
    CompareTotals(totals, packed->totals, findings);
  return {};
}

}  // namespace pipeline
