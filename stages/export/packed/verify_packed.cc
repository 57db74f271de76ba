// Verifies packed rows. Their bytes: stages/export/packed/packed.md.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/str.h"
#include "formats/array_record.h"
#include "stages/export/packed/answers_alone.h"
#include "stages/export/packed/megatron_shard.h"
#include "stages/export/packed/packed.h"
#include "stages/export/packed/packed_export.h"
#include "stages/export/packed/packed_info.h"
#include "stages/export/packed/packed_labels.h"
#include "text/sentencepiece/line_codec.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

class LabelledRowCheck {
 public:
  /// `info` has labels, and outlives it, as `tokenizer` does: null, unless they are numbers.
  LabelledRowCheck(const PackedInfo& info, const LineCodec* tokenizer)
      : info_(info), rules_(info.rules(true)), tokenizer_(tokenizer) {
    for (const PackedLabel& label : info.labels) labels_.emplace(label.ids, &label);
  }

  /// Returns what is wrong with a row of ids and their weights, which are 0 and 1; empty: nothing. Then
  /// `found` has what its index entry must say.
  std::string WrongWith(std::span<const std::uint32_t> ids, std::span<const std::uint32_t> weights,
                        PackedRowFacts& found) const {
    found = {};
    std::size_t begin = 1;  // of the next document
    while (begin < ids.size()) {
      const auto behind = static_cast<std::ptrdiff_t>(begin);
      const bool filled = std::all_of(ids.begin() + behind, ids.end(),
                                      [this](std::uint32_t id) { return id == info_.fill_id; }) &&
                          std::count(weights.begin() + behind, weights.end(), 1u) == 0;
      if (filled) break;
      const std::size_t text_end = FindEos(ids, begin);
      // The text of a vocab.txt ends with the same id as its document.
      const std::size_t end = rules_.before_label == rules_.eos_id ? FindEos(ids, text_end + 1) : text_end;
      if (end >= ids.size()) return StrCat("the document with id ", begin, " has no end in the row");
      if (std::string wrong = WrongWithDocument(ids, weights, begin, end, found); !wrong.empty())
        return wrong;
      begin = end + 1;
    }
    found.length = static_cast<std::uint32_t>(begin);
    return begin > 1 ? "" : "has no document";
  }

 private:
  /// Returns the place of the next eos; that behind the last id: there is none.
  std::size_t FindEos(std::span<const std::uint32_t> ids, std::size_t at) const {
    const auto from = ids.begin() + static_cast<std::ptrdiff_t>(std::min(at, ids.size()));
    return static_cast<std::size_t>(std::find(from, ids.end(), rules_.eos_id) - ids.begin());
  }

  /// The same for the document with ids from `begin` on, which eos at `end` ends; adds to `found`.
  std::string WrongWithDocument(std::span<const std::uint32_t> ids, std::span<const std::uint32_t> weights,
                                std::size_t begin, std::size_t end, PackedRowFacts& found) const {
    const auto at = static_cast<std::size_t>(
        std::find(weights.begin() + static_cast<std::ptrdiff_t>(begin), weights.end(), 1u) - weights.begin());
    if (at >= end) return StrCat("the document with id ", begin, " has no scored label");
    for (std::size_t scored = at; scored <= end; ++scored)
      if (weights[scored] == 0) return StrCat("id ", scored, " is not scored, and id ", at, " before it is");
    const std::optional<std::string> label = LabelOf(
        {ids.begin() + static_cast<std::ptrdiff_t>(at), ids.begin() + static_cast<std::ptrdiff_t>(end)});
    if (!label && info_.number_labels)
      return StrCat("the scored ids ", at, " to ", end, " are not those of a number as rows have it");
    if (!label)
      return StrCat("the scored ids ", at, " to ", end, " are not those of a label of ", kPackedInfoFile);
    if (rules_.before_label && (at == begin || ids[at - 1] != *rules_.before_label))
      return StrCat("the label at id ", at, " is not a line of its own");
    if (rules_.begin && ids[begin] != *rules_.begin)
      return StrCat("the document with id ", begin, " does not begin with id ", *rules_.begin);
    found.bytes += static_cast<std::uint32_t>(label->size() + 1);
    found.chars += static_cast<std::uint32_t>(CountCharacters(*label) + 1);
    return {};
  }

  /// The text of a label from its ids; absent: they are none.
  std::optional<std::string> LabelOf(const std::vector<std::uint32_t>& ids) const {
    if (tokenizer_ == nullptr) {
      const auto label = labels_.find(ids);
      return label == labels_.end() ? std::nullopt : std::optional(label->second->name);
    }
    Result<std::string> text = tokenizer_->Decode(ids);
    if (text.ok() && tokenizer_->vocabulary() != nullptr) {
      std::erase(*text, ' ');  // 4.5 has three words
      std::vector<std::uint32_t> again, ends;
      if (!tokenizer_->Encode(*text, again, ends).ok() || again != ids) return std::nullopt;
    }
    return text.ok() && NumberLabel(*text) == *text ? std::optional(*text) : std::nullopt;
  }

  const PackedInfo& info_;
  const RowRules rules_;
  const LineCodec* const tokenizer_;
  std::map<std::vector<std::uint32_t>, const PackedLabel*> labels_;  // by their ids
};

using PackedIndex = std::vector<PackedIndexEntry>;

/// Finds the faults in the rows of one shard. One thread at a time.
class RowCheck {
 public:
  /// `index` is null if it cannot be used; then the checks that need it are left out. `tokenizer`: null,
  /// unless labels are numbers.
  RowCheck(const PackedInfo& info, const PackedIndex* index, const LineCodec* tokenizer)
      : info_(info), index_(index) {
    if (!info.labels.empty() || tokenizer != nullptr) labels_.emplace(info, tokenizer);
  }

  std::string WrongWith(const ShardRecord& record) {
    const std::uint32_t id_bytes = PackedIdBytes(info_.encoding, info_.tokenizer.vocab_size);
    const Status parsed = id_bytes > 0
                              ? ParseRawIds(record.bytes, id_bytes, ids_)
                              : ParsePackedRow(record.bytes, ids_, info_.segments ? &segments_ : nullptr,
                                               info_.weights ? &weights_ : nullptr);
    if (!parsed.ok()) return std::string(parsed.message());
    if (ids_.size() != info_.seq_len + std::size_t{1})
      return StrCat("has ", ids_.size(), " ids where each row has ", info_.seq_len + std::size_t{1});
    for (std::size_t at = 0; at < ids_.size(); ++at)
      if (ids_[at] >= info_.tokenizer.vocab_size)
        return StrCat("id ", at, " is ", ids_[at], " where the tokenizer has ", info_.tokenizer.vocab_size,
                      " pieces");
    if (info_.segments)
      if (std::string wrong = WrongWithSegments(); !wrong.empty()) return wrong;
    if (info_.weights)
      if (std::string wrong = WrongWithWeights(); !wrong.empty()) return wrong;
    if (labels_)
      if (std::string wrong = labels_->WrongWith(ids_, weights_, labelled_); !wrong.empty()) return wrong;
    scored_ += static_cast<std::uint64_t>(std::count(weights_.begin(), weights_.end(), 1u));
    ++good_;
    return index_ == nullptr ? std::string() : WrongWithEntry(record);
  }

  /// Rows whose numbers are right, and their scored targets.
  std::uint64_t good() const { return good_; }
  std::uint64_t scored() const { return scored_; }

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

  std::string WrongWithWeights() const {
    if (weights_.size() != ids_.size())
      return StrCat("has ", weights_.size(), " weights for ", ids_.size(), " ids");
    for (std::size_t at = 0; at < weights_.size(); ++at)
      if (weights_[at] > 1) return StrCat("weight ", at, " is ", weights_[at], ", neither 0 nor 1");
    return weights_.front() == 0 ? "" : "weight 0 is 1, and the first id is context only";
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
    for (std::size_t at = entry.facts.length; at < weights_.size(); ++at)
      if (weights_[at] != 0)
        return StrCat("weight ", at, " is 1 where the index says that the row is filled from id ",
                      entry.facts.length);
    if (labels_ && entry.facts != labelled_)
      return StrCat("the index says ", entry.facts.length, " ids, ", entry.facts.bytes, " bytes and ",
                    entry.facts.chars, " characters, where its labels and their documents have ",
                    labelled_.length, ", ", labelled_.bytes, " and ", labelled_.chars);
    return {};
  }

  const PackedInfo& info_;
  const PackedIndex* const index_;
  std::vector<std::uint32_t> ids_;
  PackedSegments segments_;
  std::vector<std::uint32_t> weights_;      // empty: rows have none
  std::optional<LabelledRowCheck> labels_;  // absent: documents have none
  PackedRowFacts labelled_;                 // of the last row that labels_ accepted
  std::uint64_t good_ = 0, scored_ = 0;
};

/// Verifies rows with packed.json and the index of each shard.
class PackedCheck final : public ExportCheck {
 public:
  explicit PackedCheck(const ExportLocation& artifact)
      : ExportCheck(artifact), info_(Read(kPackedInfoFile, ParsePackedInfo)) {}

  void VerifyManifest(Findings& findings) const override {
    const PackedEncoding encoding =
        PackedEncodingOf(config()["encoding"].AsString()).value_or(PackedEncoding::kExample);
    VerifyShardNames(
        [encoding](std::string_view split, std::uint32_t number, std::uint32_t count) {
          return PackedShardName(split, number, count, encoding);
        },
        findings);
    for (const ManifestShard& shard : manifest().shards)
      if (Find(PackedIndexOf(shard.object.name, encoding)) == nullptr)
        findings.Add(StrCat("shard ", shard.object.name, ": its index is not in the manifest"));
    VerifyNames({kPackedInfoFile, info_.ok() ? info_->tokenizer.model : kPackedInfoFile}, findings);
    VerifyDescription(kPackedInfoFile, info_.status(), findings);
  }

  /// Verifies length, ids and filling of each row, the index against the rows, and its sums against
  /// packed.json.
  Status VerifyShard(const ByteFile& file, const ManifestShard& shard, Findings& findings,
                     ReadCounts& counts) const override {
    if (!info_.ok()) return VerifyBytes(file, shard.object, stop(), findings, counts);
    if (info_->encoding == PackedEncoding::kMmap) {
      if (info_->documents())
        RETURN_IF_ERROR(VerifyBytes(file, shard.object, stop(), findings, counts));
      else
        RETURN_IF_ERROR(VerifyRows(file, shard, nullptr, findings, counts));
      return VerifyMegatron(file, shard, findings, counts);
    }
    const std::string name = PackedIndexOf(shard.object.name, info_->encoding);
    const Result<PackedIndex> index = Read(name, ParsePackedIndex);
    if (!index.ok()) findings.Add(StrCat("its index ", name, " cannot be used: ", index.status().message()));
    RETURN_IF_ERROR(VerifyRows(file, shard, index.ok() ? &*index : nullptr, findings, counts));
    if (index.ok()) VerifyTotals(*index, shard, findings);
    return {};
  }

  Status VerifySidecar(const StoredObject& object, Findings& findings) const override {
    if (object.name == kPackedInfoFile && info_.ok()) VerifyInfo(findings);
    return {};
  }

 private:
  const PackedShard* FindShard(const ManifestShard& shard) const {
    for (const PackedSplit& split : info_->splits)
      for (const PackedShard& packed : split.shards)
        if (split.name == shard.split && packed.object == shard.object.name) return &packed;
    return nullptr;
  }

  void VerifyInfo(Findings& findings) const {
    if (const std::int64_t seq_len = config()["seq_len"].AsInt(); seq_len != std::int64_t{info_->seq_len})
      findings.Add(StrCat("seq_len is ", info_->seq_len, " where the manifest says ", seq_len));
    const auto compare = [&](std::string_view key, const Json& is, const Json& fallback) {
      const Json& said = config()[key];
      const Json& was = said.is_null() ? fallback : said;  // earlier versions did not have the key
      if (is != was) findings.Add(StrCat(key, " is ", is.Dump(), " where the manifest says ", was.Dump()));
    };
    compare("encoding", PackedEncodingName(info_->encoding), "example");
    compare("packing", PackingName(info_->packing), kStreamPacking);
    compare("segments", info_->segments, false);
    if (const Json& piece = config()[kAnswersAfterKey]; !piece.is_null() && !info_->weights)
      findings.Add(
          StrCat("rows have no weights where the manifest says ", kAnswersAfterKey, ": ", piece.Dump()));
    VerifyLabels(findings);
    VerifyTokenizer(info_->tokenizer, findings);
    std::size_t named = 0, known = 0;
    for (const PackedSplit& split : info_->splits) named += split.shards.size();
    for (const ManifestShard& shard : manifest().shards) {
      const auto add = [&](std::string_view what) {
        findings.Add(StrCat("shard ", shard.object.name, ": ", what));
      };
      const PackedShard* const packed = FindShard(shard);
      if (packed == nullptr) {
        add("missing");
        continue;
      }
      ++known;
      if (packed->totals.rows != shard.records)
        add(StrCat("has ", packed->totals.rows, info_->documents() ? " documents" : " rows",
                   " where the manifest says ", shard.records));
      if (packed->index != PackedIndexOf(shard.object.name, info_->encoding))
        add(StrCat("its index is not named ", packed->index));
    }
    if (named > known)
      findings.Add(StrCat("names ", named, " shards, ", named - known, " of which are not in the manifest"));
  }

  void VerifyLabels(Findings& findings) const {
    if (TookLabels() && !info_->labelled()) findings.Add("has no labels where the manifest has some");
    if (!TookLabels() && info_->labelled()) findings.Add("has labels where the manifest has none");
    if (!config().Has("labels")) return;
    Json names{Json::Array{}};
    if (info_->number_labels) names.Append(kNumberLabels);
    for (const PackedLabel& label : info_->labels) names.Append(label.name);
    if (names != config()["labels"])
      findings.Add(
          StrCat("labels are ", names.Dump(), " where the manifest says ", config()["labels"].Dump()));
  }

  /// `index` is null if it cannot be used.
  Status VerifyRows(const ByteFile& file, const ManifestShard& shard, const PackedIndex* index,
                    Findings& findings, ReadCounts& counts) const {
    std::unique_ptr<const LineCodec> tokenizer;
    if (info_->number_labels) {
      auto loaded = OpenTokenizer();
      if (!loaded.ok())
        findings.Add(StrCat("its labels cannot be read: ", loaded.status().message()));
      else
        tokenizer = std::move(*loaded);
    }
    RowCheck check(*info_, index, tokenizer.get());
    const auto wrong = [&check](const ShardRecord& record) { return check.WrongWith(record); };
    if (PackedIdBytes(info_->encoding, info_->tokenizer.vocab_size) > 0)
      return VerifyRawRows(file, shard, wrong, findings, counts);
    if (info_->encoding == PackedEncoding::kArrayRecord)
      RETURN_IF_ERROR(VerifyArrayRecords(file, shard, wrong, findings, counts));
    else
      RETURN_IF_ERROR(VerifyRecords(file, shard, wrong, stop(), findings, counts));
    VerifyScored(check, shard, findings);
    return {};
  }

  Result<std::unique_ptr<const LineCodec>> OpenTokenizer() const {
    ASSIGN_OR_RETURN(const std::string bytes, Read(info_->tokenizer.model));
    return LineCodec::Open(KindOf(info_->tokenizer), bytes);
  }

  /// Only where each row could be counted: the others have findings of their own.
  void VerifyScored(const RowCheck& check, const ManifestShard& shard, Findings& findings) const {
    const PackedShard* const packed = FindShard(shard);
    if (!info_->weights || packed == nullptr || check.good() != shard.records) return;
    if (check.scored() != packed->totals.scored)
      findings.Add(StrCat("its rows have ", check.scored(), " scored targets where ", kPackedInfoFile,
                          " says ", packed->totals.scored));
  }

  using WrongWithRecord = std::function<std::string(const ShardRecord& record)>;

  /// Verifies rows of raw ids.
  Status VerifyRawRows(const ByteFile& file, const ManifestShard& shard, const WrongWithRecord& wrong_with,
                       Findings& findings, ReadCounts& counts) const {
    const std::uint64_t row_bytes =
        std::uint64_t{PackedIdBytes(info_->encoding, info_->tokenizer.vocab_size)} *
        (std::uint64_t{info_->seq_len} + 1);
    RETURN_IF_ERROR(VerifyBytes(file, shard.object, stop(), findings, counts));
    const std::uint64_t rows = file.size() / row_bytes;
    if (rows != shard.records || file.size() % row_bytes != 0)
      findings.Add(StrCat("has ", file.size(), " bytes, not those of the ", shard.records,
                          " rows of the manifest, ", row_bytes, " each"));
    ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader, file.Open(0, stop()));
    std::string bytes(row_bytes, '\0');
    for (std::uint64_t row = 0; row < rows; ++row) {
      RETURN_IF_ERROR(ReadExactly(*reader, bytes));
      ++counts.records[shard.split];
      if (const std::string wrong = wrong_with({row, row * row_bytes, bytes}); !wrong.empty())
        findings.Add(StrCat("record ", row, " at byte ", row * row_bytes, ": ", wrong));
    }
    return {};
  }

  /// Verifies each record of an ArrayRecord file, also those behind a damaged one. Offsets are those of its
  /// index.
  Status VerifyArrayRecords(const ByteFile& file, const ManifestShard& shard,
                            const WrongWithRecord& wrong_with, Findings& findings, ReadCounts& counts) const {
    RETURN_IF_ERROR(VerifyBytes(file, shard.object, stop(), findings, counts));
    const Result<std::unique_ptr<ArrayRecordReader>> reader = ArrayRecordReader::Open(file, stop());
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

  /// Verifies the index of a Megatron data set, and documents as it divides them.
  Status VerifyMegatron(const ByteFile& file, const ManifestShard& shard, Findings& findings,
                        ReadCounts& counts) const {
    const std::string name = PackedIndexOf(shard.object.name, info_->encoding);
    const Result<std::unique_ptr<ByteFile>> index = Open(name);
    if (!index.ok()) {
      findings.Add(StrCat("its index ", name, " cannot be used: ", index.status().message()));
      return {};
    }
    const MegatronShard checked = {file, **index, name, shard.records, stop()};
    if (!info_->documents()) return CheckMegatronRows(checked, *info_, findings);
    const PackedShard* const packed = FindShard(shard);
    return CheckMegatronDocuments(checked, *info_, packed == nullptr ? nullptr : &packed->totals, findings,
                                  counts.records[shard.split]);
  }

  void VerifyTotals(const PackedIndex& index, const ManifestShard& shard, Findings& findings) const {
    const PackedShard* const packed = FindShard(shard);
    if (packed == nullptr) return;
    PackedTotals found;
    found.rows = index.size();
    for (const PackedIndexEntry& entry : index) {
      found.tokens += entry.facts.length;
      found.bytes += entry.facts.bytes;
      found.chars += entry.facts.chars;
    }
    const auto compare = [&](std::string_view name, std::uint64_t is, std::uint64_t said) {
      if (is != said)
        findings.Add(StrCat("its index counts ", is, " ", name, " where ", kPackedInfoFile, " says ", said));
    };
    compare("rows", found.rows, packed->totals.rows);
    compare("tokens", found.tokens, packed->totals.tokens);
    compare("bytes", found.bytes, packed->totals.bytes);
    compare("characters", found.chars, packed->totals.chars);
  }

  const Result<PackedInfo> info_;
};

}  // namespace

std::unique_ptr<const ExportCheck> MakePackedCheck(const ExportLocation& artifact) {
  return std::make_unique<PackedCheck>(artifact);
}

}  // namespace pipeline
