#include "stages/export/packed/packed_export.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/str.h"
#include "formats/megatron_index.h"
#include "formats/tfrecord.h"
#include "stages/export/packed/packed.h"
#include "stages/export/packed/packed_info.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kMaxIndexBytes = std::uint64_t{1} << 30;
constexpr std::string_view kRawSuffix = ".bin";  // other programs write such files, too
constexpr std::array<std::string_view, 3> kSuffixes = {".tfrecord", ".array_record", kRawSuffix};

std::optional<PackedInfo> InfoBeside(const OpenBeside& beside) {
  const std::optional<std::string> text = ReadBeside(beside, kPackedInfoFile);
  if (!text) return std::nullopt;
  Result<PackedInfo> info = ParsePackedInfo(*text);
  return info.ok() ? std::optional(std::move(info).value()) : std::nullopt;
}

class PackedView final : public ExampleView {
 public:
  /// `rows`: the entries of the index; empty: there is none.
  explicit PackedView(std::vector<PackedIndexEntry> rows) : rows_(std::move(rows)) {}

  /// The ids of a row, without its padding if its length is known.
  std::optional<std::string> LineOf(std::uint64_t index, const TfExample& example) const override {
    const bool segments = example.contains(kPackedSegmentIds) && example.contains(kPackedPositions);
    const TfInt64List* const ids = NumbersOf(example, kPackedFeature);
    const std::size_t features = (segments ? 3u : 1u) + (example.contains(kPackedWeights) ? 1u : 0u);
    if (ids == nullptr || example.size() != features) return ExampleView::LineOf(index, example);
    const std::size_t length = index < rows_.size() ? rows_[index].facts.length : ids->size();
    std::string line;
    for (std::size_t at = 0; at < std::min(length, ids->size()); ++at)
      line += StrCat(at == 0 ? "" : " ", (*ids)[at]);
    return line;
  }

  void AddMembers(std::uint64_t index, Json& record) const override {
    if (index >= rows_.size()) return;
    const PackedRowFacts& facts = rows_[index].facts;
    record["length"] = facts.length;
    record["bytes"] = facts.bytes;
    record["chars"] = facts.chars;
  }

  std::optional<SeenIds> IdsOf(std::uint64_t index, const TfExample& example) const override {
    const TfInt64List* const row = NumbersOf(example, kPackedFeature);
    std::optional<SeenIds> ids = row == nullptr ? ExampleView::IdsOf(index, example) : SeenIds{row->size()};
    if (!ids || index >= rows_.size()) return ids;
    const PackedRowFacts& facts = rows_[index].facts;
    // The index has the text of scored targets alone: with weights, nobody knows how much text the row has.
    if (example.contains(kPackedWeights)) return SeenIds{facts.length};
    return SeenIds{facts.length, facts.chars, facts.bytes};
  }

 private:
  const std::vector<PackedIndexEntry> rows_;
};

/// Returns the number of ids of the next row of raw ids; absent: there is none.
using NextLength = std::function<Result<std::optional<std::uint32_t>>()>;

/// Returns rows of raw ids in the form of examples.
NextExample RawRowsOf(std::unique_ptr<ByteReader> input, const PackedInfo& info, NextLength next_length) {
  const std::uint32_t id_bytes = PackedIdBytes(info.encoding, info.tokenizer.vocab_size);
  return [input = std::shared_ptr<ByteReader>(std::move(input)), id_bytes, row = std::string(),
          next_length = std::move(next_length)]() mutable -> Result<std::optional<TfExample>> {
    ASSIGN_OR_RETURN(const std::optional<std::uint32_t> length, next_length());
    if (!length) return std::nullopt;
    row.resize(std::size_t{*length} * id_bytes);
    RETURN_IF_ERROR(ReadExactly(*input, row));
    std::vector<std::uint32_t> ids;
    RETURN_IF_ERROR(ParseRawIds(row, id_bytes, ids));
    return std::optional(TfExample{{kPackedFeature, TfInt64List(ids.begin(), ids.end())}});
  };
}

/// Lengths of rows that all have as many ids; `size`: bytes of all.
NextLength EqualLengths(std::uint64_t size, const PackedInfo& info) {
  const std::uint32_t ids = info.seq_len + 1;
  const std::uint64_t row = std::uint64_t{ids} * PackedIdBytes(info.encoding, info.tokenizer.vocab_size);
  return [ids, row, left = size]() mutable -> Result<std::optional<std::uint32_t>> {
    if (left == 0) return std::nullopt;
    left -= std::min(left, row);
    return std::optional(ids);
  };
}

/// Returns the row with weights in a payload that waits in a spill; absent: it is none.
std::optional<TfExample> WeightedRowIn(std::string_view payload) {
  constexpr std::size_t kNumbers = kPackedWeightedNumbers * sizeof(std::uint32_t);
  if (payload.size() <= kNumbers) return std::nullopt;
  const std::string_view behind = payload.substr(kNumbers);
  Result<TfExample> row = ParseTfExample(TfRecordIn(behind).value_or(behind));
  if (!row.ok() || NumbersOf(*row, kPackedFeature) == nullptr || NumbersOf(*row, kPackedWeights) == nullptr)
    return std::nullopt;
  return std::move(row).value();
}

class PackedReader final : public ExportReader {
 public:
  explicit PackedReader(const OpenBeside& beside) : beside_(beside), info_(InfoBeside(beside)) {}

  Status Print(const ShardFile& shard, RecordOutput& output) const override {
    ASSIGN_OR_RETURN(const PackedView view, ViewOf(shard, "see"));
    ASSIGN_OR_RETURN(const NextExample next, Open(shard));
    return PrintExamples(WithNumbersOfName(shard, kSuffixes), next, view, output);
  }

  Status Count(const ShardFile& shard, RecordStatistics& statistics) const override {
    ASSIGN_OR_RETURN(const PackedView view, ViewOf(shard, "count"));
    ASSIGN_OR_RETURN(const NextExample next, Open(shard));
    return CountExamples(next, view, statistics);
  }

 private:
  Result<PackedView> ViewOf(const ShardFile& shard, std::string_view verb) const {
    Result<std::vector<PackedIndexEntry>> index = ReadIndex(shard.name);
    if (index.ok()) return PackedView(std::move(index).value());
    return std::move(index).status().Annotate(
        StrCat("its index cannot be read; move it away to ", verb, " rows without it"));
  }

  /// Returns the index of the shard; empty: there is none.
  Result<std::vector<PackedIndexEntry>> ReadIndex(std::string_view shard) const {
    const PackedEncoding encoding = info_ ? info_->encoding : PackedEncoding::kExample;
    const std::string name =
        encoding == PackedEncoding::kMmap ? std::string() : PackedIndexOf(shard, encoding);
    if (name.empty()) return std::vector<PackedIndexEntry>();
    ASSIGN_OR_RETURN(const std::unique_ptr<ByteFile> file, beside_(name));
    if (file == nullptr) return std::vector<PackedIndexEntry>();
    if (file->size() > kMaxIndexBytes) return Status(Code::kResourceExhausted, "larger than 1 GiB");
    ASSIGN_OR_RETURN(const std::string bytes, ReadBytes(*file, 0, file->size()));
    return ParsePackedIndex(bytes);
  }

  Result<NextExample> Open(const ShardFile& shard) const {
    if (!info_ || HasExamples(info_->encoding) || !shard.name.ends_with(kRawSuffix))
      return OpenExamples(shard.bytes);
    NextLength lengths;
    if (info_->documents()) {
      ASSIGN_OR_RETURN(lengths, LengthsOf(shard));
    } else {
      lengths = EqualLengths(shard.bytes.size(), *info_);
    }
    ASSIGN_OR_RETURN(std::unique_ptr<ByteReader> input, shard.bytes.Open(0, {}));
    return RawRowsOf(std::move(input), *info_, std::move(lengths));
  }

  /// The index alone knows where documents end.
  Result<NextLength> LengthsOf(const ShardFile& shard) const {
    const std::string name = PackedIndexOf(shard.name, info_->encoding);
    ASSIGN_OR_RETURN(std::unique_ptr<ByteFile> opened, beside_(name));
    if (opened == nullptr)
      return Status(Code::kFailedPrecondition,
                    StrCat("its index ", name, " is not there, which divides it into documents"));
    const std::shared_ptr<const ByteFile> file(std::move(opened));
    Result<MegatronIndexReader> index = MegatronIndexReader::Open(*file, {});
    if (!index.ok()) return std::move(index).status().Annotate(name);
    const std::uint64_t ids = shard.bytes.size() / MegatronIdBytes(index->type());
    return NextLength([file, name, index = std::move(index).value(),
                       left = ids]() mutable -> Result<std::optional<std::uint32_t>> {
      ASSIGN_OR_RETURN(const std::optional<std::uint32_t> length, index.Next());
      if (length.value_or(0) > left)
        return Status(Code::kDataLoss, StrCat(name, ": a document has ", *length, " ids, where ", left,
                                              " are left: they are not of one data set"));
      left -= length.value_or(0);
      return length;
    });
  }

  const OpenBeside beside_;
  const std::optional<PackedInfo> info_;
};

std::unique_ptr<const ExportReader> ReadPacked(const OpenBeside& beside) {
  return std::make_unique<PackedReader>(beside);
}

bool IsPackedFile(const NamedFile& file) {
  if (file.first != nullptr && NumbersOf(*file.first, kPackedFeature) != nullptr) return true;
  if (std::none_of(kSuffixes.begin(), kSuffixes.end(),
                   [&](std::string_view suffix) { return file.name.ends_with(suffix); }))
    return false;
  const std::optional<PackedInfo> info = InfoBeside(file.beside);
  return info && HasExamples(info->encoding) != file.name.ends_with(kRawSuffix);
}

bool PrintSpilledRow(std::string_view payload, const RecordOrigin& origin, RecordOutput& output) {
  constexpr std::size_t kFacts = kPackedIndexNumbers * sizeof(std::uint32_t);
  if (payload.size() <= kFacts || TfRecordIn(payload)) return false;
  if (const std::optional<TfExample> weighted = WeightedRowIn(payload)) {
    PrintExample(*weighted, 0, PackedView({}), origin, output);
    return true;
  }
  const std::string_view behind = payload.substr(kFacts);
  const std::optional<std::string_view> record = TfRecordIn(behind);
  if (!record && ParseTfExample(payload).ok()) return false;
  const Result<TfExample> row = ParseTfExample(record.value_or(behind));
  if (!row.ok()) return false;
  PrintExample(*row, 0, PackedView({}), origin, output);
  return true;
}

}  // namespace

ExportFormat PackedExport() {
  return {.stage = WritePackedType(),
          .verify = MakePackedCheck,
          .read = ReadPacked,
          .claims = IsPackedFile,
          .print_spilled = PrintSpilledRow,
          .form = {kPackedInfoFile, kNewestPacked}};
}

}  // namespace pipeline
