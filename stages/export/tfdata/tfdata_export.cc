#include "stages/export/tfdata/tfdata_export.h"

#include <string>
#include <string_view>
#include <utility>

#include "base/str.h"
#include "formats/tfrecord.h"
#include "stages/export/tfdata/tfdata.h"
#include "stages/shards/shard_ranges.h"

namespace pipeline {

namespace {

/// Returns the run in the name of a snapshot; empty: there is none.
std::string RunOf(std::string_view snapshot) {
  const std::size_t begin = snapshot.find('/') + 1;
  const std::size_t end = snapshot.find('/', begin);
  return begin == 0 || end == std::string_view::npos ? std::string()
                                                     : std::string(snapshot.substr(begin, end - begin));
}

/// Verifies directories with tfdata.json.
class TfdataCheck final : public ExportCheck {
 public:
  explicit TfdataCheck(const ExportLocation& artifact)
      : ExportCheck(artifact), info_(Read(kTfdataInfoFile, ParseTfdataInfo)) {}

  void VerifyManifest(Findings& findings) const override {
    // VerifyInfo checks the run; here any run in a name is accepted.
    std::size_t at = 0;
    VerifyShardNames(
        [&](std::string_view split, std::uint32_t number, std::uint32_t count) {
          return TfdataSnapshotName(TfdataShardDirectory(config(), split, number, count),
                                    RunOf(manifest().shards[at++].object.name));
        },
        findings);
    for (const ManifestShard& shard : manifest().shards)
      for (const std::string_view needed : {kTfdataMetadataFile, kTfdataSpecFile})
        VerifyNames({StrCat(TfdataDirectoryOf(shard.object.name), "/", needed)}, findings);
    VerifyNames({kTfdataInfoFile, kTfdataModelFile}, findings);
    VerifyDescription(kTfdataInfoFile, info_.status(), findings);
  }

  /// Verifies that each element is an id of the tokenizer.
  Status VerifyShard(const ByteFile& file, const ManifestShard& shard, Findings& findings,
                     ReadCounts& counts) const override {
    if (!info_.ok()) return VerifyBytes(file, shard.object, stop(), findings, counts);
    ManifestShard elements = shard;  // a snapshot has an element for each id, not for each document
    const TfdataDirectory* const directory = FindDirectory(TfdataDirectoryOf(shard.object.name));
    elements.records = directory == nullptr ? shard.object.bytes / kTfdataElementBytes : directory->ids;
    const auto wrong = [this](const ShardRecord& record) -> std::string {
      const Result<std::uint32_t> id = ParseTfdataElement(record.bytes);
      if (!id.ok()) return std::string(id.status().message());
      if (*id < info_->tokenizer.vocab_size) return {};
      return StrCat("id ", *id, " where the tokenizer has ", info_->tokenizer.vocab_size, " pieces");
    };
    ReadCounts read;
    RETURN_IF_ERROR(VerifyRecords(file, elements, wrong, stop(), findings, read));
    counts.bytes += read.bytes;
    counts.records[shard.split] += shard.records;
    return {};
  }

  Status VerifySidecar(const StoredObject& object, Findings& findings) const override {
    if (!info_.ok()) return {};
    if (object.name == kTfdataInfoFile) VerifyInfo(findings);
    const std::size_t slash = object.name.find('/');
    if (slash == std::string::npos) return {};
    const std::string_view file = std::string_view(object.name).substr(slash + 1);
    if (file != kTfdataSpecFile && file != kTfdataMetadataFile) return {};
    ASSIGN_OR_RETURN(const std::string bytes, Read(object.name));
    if (file == kTfdataMetadataFile)
      VerifyMetadata(object.name.substr(0, slash), bytes, findings);
    else if (bytes != TfdataSpec())
      findings.Add("does not say that elements are scalars of int32");
    return {};
  }

 private:
  const TfdataDirectory* FindDirectory(std::string_view name) const {
    for (const TfdataSplit& split : info_->splits)
      for (const TfdataDirectory& directory : split.directories)
        if (directory.name == name) return &directory;
    return nullptr;
  }

  void VerifyInfo(Findings& findings) const {
    if (const std::string_view eos = config()["eos"].AsString("document"); info_->eos != eos)
      findings.Add(StrCat("eos is ", info_->eos, " where the manifest says ", eos));
    VerifyTokenizer(info_->tokenizer, findings);
    std::size_t named = 0, known = 0;
    for (const TfdataSplit& split : info_->splits) named += split.directories.size();
    for (const ManifestShard& shard : manifest().shards) {
      const std::string_view name = TfdataDirectoryOf(shard.object.name);
      const auto add = [&](std::string_view what) { findings.Add(StrCat("directory ", name, ": ", what)); };
      const TfdataDirectory* const directory = FindDirectory(name);
      if (directory == nullptr) {
        add("missing");
        continue;
      }
      ++known;
      if (directory->documents != shard.records)
        add(StrCat("has ", directory->documents, " documents where the manifest says ", shard.records));
      if (shard.object.name != TfdataSnapshotName(name, directory->run_id))
        add(StrCat("its run is not ", directory->run_id));
      if (shard.object.bytes != directory->ids * kTfdataElementBytes)
        add(StrCat("has ", directory->ids, " ids, and its snapshot ", shard.object.bytes, " bytes, not ",
                   kTfdataElementBytes, " for each"));
    }
    if (named > known)
      findings.Add(
          StrCat("names ", named, " directories, ", named - known, " of which are not in the manifest"));
    for (const TfdataSplit& split : info_->splits)
      if (split.name != kTrainSplit && split.ids() < kTfdataWindow)
        findings.Add(StrCat("split ", split.name, ": has ", split.ids(),
                            " ids, and the trainer cuts windows of ", kTfdataWindow));
  }

  void VerifyMetadata(std::string_view name, std::string_view bytes, Findings& findings) const {
    const Result<TfdataMetadata> metadata = ParseTfdataMetadata(bytes);
    if (!metadata.ok()) return findings.Add(metadata.status().message());
    const TfdataDirectory* const directory = FindDirectory(name);
    if (directory == nullptr) return findings.Add(StrCat(kTfdataInfoFile, " does not name its directory"));
    if (metadata->run_id != directory->run_id)
      findings.Add(StrCat("names the run ", metadata->run_id, " where ", kTfdataInfoFile, " names ",
                          directory->run_id));
    if (metadata->elements != directory->ids)
      findings.Add(
          StrCat("counts ", metadata->elements, " ids where ", kTfdataInfoFile, " counts ", directory->ids));
  }

  const Result<TfdataInfo> info_;
};

constexpr std::uint64_t kMaxElementBytes = std::uint64_t{1} << 30;

/// Returns the id behind each document or line; absent: there is none, or it is unknown.
std::optional<std::uint32_t> EndBeside(const OpenBeside& beside) {
  const std::optional<std::string> text = ReadBeside(beside, kTfdataInfoFile);
  if (!text) return std::nullopt;
  const Result<TfdataInfo> info = ParseTfdataInfo(*text);
  if (!info.ok() || info->eos == "none" || info->tokenizer.eos_id < 0) return std::nullopt;
  return static_cast<std::uint32_t>(info->tokenizer.eos_id);
}

/// The next id of a snapshot; absent: the end.
Result<std::optional<std::uint32_t>> NextId(TfRecordReader& records) {
  const std::uint64_t offset = records.offset();
  ASSIGN_OR_RETURN(const std::optional<std::string_view> record, records.Next());
  if (!record) return std::nullopt;
  Result<std::uint32_t> id = ParseTfdataElement(*record);
  if (!id.ok()) return std::move(id).status().Annotate(StrCat("element at offset ", offset));
  return std::optional(*id);
}

/// Print gives a line for each id; Count counts documents, or their lines.
class TfdataReader final : public ExportReader {
 public:
  explicit TfdataReader(std::optional<std::uint32_t> end) : end_(end) {}

  Status Print(const ShardFile& shard, RecordOutput& output) const override {
    ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> input, shard.bytes.Open(0, {}));
    TfRecordReader records(*input, kMaxElementBytes);
    for (std::uint64_t index = 0; !output.done(); ++index) {
      ASSIGN_OR_RETURN(const std::optional<std::uint32_t> id, NextId(records));
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
    ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> input, shard.bytes.Open(0, {}));
    TfRecordReader records(*input, kMaxElementBytes);
    for (std::uint64_t count = 0;;) {
      ASSIGN_OR_RETURN(const std::optional<std::uint32_t> id, NextId(records));
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
  return {.stage = WriteTfdataType(),
          .verify = NewCheck<TfdataCheck>,
          .read = ReadTfdata,
          .claims = IsSnapshot,
          .form = {kTfdataInfoFile, kTfdataVersion}};
}

}  // namespace pipeline
