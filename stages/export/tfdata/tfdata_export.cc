#include "stages/export/tfdata/tfdata_export.h"

#include <string>
#include <utility>

#include "base/str.h"
#include "formats/tfrecord.h"
#include "stages/export/tfdata/tfdata.h"
#include "stages/export/tfdata/tfdata_info.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kMaxElementBytes = std::uint64_t{1} << 30;

/// Returns the id behind each document or line; absent: there is none, or it is unknown.
std::optional<std::uint32_t> EndBeside(const OpenBeside& beside) {
  const std::optional<std::string> text = ReadBeside(beside, kTfdataInfoFile);
  if (!text) return std::nullopt;
  const Result<TfdataInfo> info = ParseTfdataInfo(*text);
  if (!info.ok() || info->eos == "none" || info->tokenizer.eos_id < 0) return std::nullopt;
  return static_cast<std::uint32_t>(info->tokenizer.eos_id);
}

/// The ids of a snapshot. One thread at a time.
class SnapshotIds {
 public:
  static Result<SnapshotIds> Open(const ByteFile& file) {
    ASSIGN_OR_RETURN(std::unique_ptr<ByteReader> input, file.Open(0, {}));
    return SnapshotIds(std::move(input));
  }

  /// Absent: the end.
  Result<std::optional<std::uint32_t>> Next() {
    const std::uint64_t offset = records_->offset();
    ASSIGN_OR_RETURN(const std::optional<std::string_view> record, records_->Next());
    if (!record) return std::nullopt;
    Result<std::uint32_t> id = ParseTfdataElement(*record);
    if (!id.ok()) return std::move(id).status().Annotate(StrCat("element at offset ", offset));
    return std::optional(*id);
  }

 private:
  explicit SnapshotIds(std::unique_ptr<ByteReader> input)
      : input_(std::move(input)), records_(std::make_unique<TfRecordReader>(*input_, kMaxElementBytes)) {}

  std::unique_ptr<ByteReader> input_;
  std::unique_ptr<TfRecordReader> records_;
};

/// Print gives a line for each id; Count counts documents, or their lines.
class TfdataReader final : public ExportReader {
 public:
  explicit TfdataReader(std::optional<std::uint32_t> end) : end_(end) {}

  Status Print(const ShardFile& shard, RecordOutput& output) const override {
    ASSIGN_OR_RETURN(SnapshotIds ids, SnapshotIds::Open(shard.bytes));
    for (std::uint64_t index = 0; !output.done(); ++index) {
      ASSIGN_OR_RETURN(const std::optional<std::uint32_t> id, ids.Next());
      if (!id) return {};
      if (!output.json()) {
        output.Line(std::to_string(*id));
        continue;
      }
      Json json;
      if (!shard.split.empty()) json["split"] = shard.split;
      if (shard.number) json["shard"] = *shard.number;
      json["index"] = index;
      json["id"] = *id;
      output.Object(json);
    }
    return {};
  }

  Status Count(const ShardFile& shard, RecordStatistics& statistics) const override {
    ASSIGN_OR_RETURN(SnapshotIds ids, SnapshotIds::Open(shard.bytes));
    for (std::uint64_t count = 0;;) {
      ASSIGN_OR_RETURN(const std::optional<std::uint32_t> id, ids.Next());
      if (id) ++count;
      if (count > 0 && (!id || id == end_)) statistics.AddIds(std::exchange(count, 0));
      if (!id) return {};
    }
  }

 private:
  const std::optional<std::uint32_t> end_;  // absent: a shard is counted as one record
};

std::unique_ptr<const ExportReader> ReadTfdata(const OpenBeside& beside) {
  return std::make_unique<TfdataReader>(EndBeside(beside));
}

bool IsSnapshot(const NamedFile& file) { return file.name.ends_with(".snapshot"); }

}  // namespace

ExportFormat TfdataExport() {
  return {.stage = WriteTfdataType(), .verify = MakeTfdataCheck, .read = ReadTfdata, .claims = IsSnapshot};
}

}  // namespace pipeline
