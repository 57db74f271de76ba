#include "stages/verify/verify_object.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/byte_reader.h"
#include "base/crc32c.h"
#include "base/digest.h"
#include "base/str.h"
#include "dag/records/partition_output.h"
#include "formats/coding.h"
#include "formats/tfrecord.h"
#include "stages/lines/partition_file.h"
#include "stages/verify/export_reader.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

/// One thread at a time.
class MeasuredReader final : public ByteReader {
 public:
  explicit MeasuredReader(std::unique_ptr<ByteReader> input) : input_(std::move(input)) {}

  Result<std::size_t> Read(std::span<char> out) override {
    ASSIGN_OR_RETURN(const std::size_t got, input_->Read(out));
    const std::string_view bytes(out.data(), got);
    bytes_ += got;
    crc32c_ = Crc32c(bytes, crc32c_);
    hasher_.Update(bytes);
    return got;
  }

  /// Reads the rest, only to measure it.
  Status Drain() {
    std::string buffer(256 << 10, '\0');
    while (true) {
      ASSIGN_OR_RETURN(const std::size_t got, Read(buffer));
      if (got == 0) return {};
    }
  }

  // Measures of the bytes read so far.
  std::uint64_t bytes() const { return bytes_; }
  std::uint32_t crc32c() const { return crc32c_; }
  Digest digest() const { return hasher_.Finish(); }

 private:
  std::unique_ptr<ByteReader> input_;
  std::uint64_t bytes_ = 0;
  std::uint32_t crc32c_ = 0;
  Hasher hasher_;
};

constexpr std::size_t kBatchBytes = 1 << 20;
constexpr std::size_t kMaxLineBytes = 256 << 20;  // far longer than any document of a partition
// Each Resume opens the file again; a shard with more damaged records is lost anyway.
constexpr int kMaxResumes = 1000;

void CompareBytes(const MeasuredReader& found, const StoredObject& object, Findings& findings) {
  if (found.bytes() != object.bytes) {
    findings.Add(StrCat("has ", found.bytes(), " bytes where the manifest says ", object.bytes));
  } else if (const Digest digest = found.digest(); digest != object.digest) {
    findings.Add(StrCat("its bytes are not those that were written: their digest is ", digest.ToHex(),
                        ", the manifest says ", object.digest.ToHex()));
  } else if (found.crc32c() != object.crc32c) {
    findings.Add("its CRC-32C is not that of the manifest, although its digest is: the manifest was edited");
  }
}

/// Returns the length of the frame at `offset`, which its header gives; absent: the header is damaged, or the
/// frame is cut off.
std::optional<std::uint64_t> FrameBytes(const ByteFile& file, std::uint64_t offset,
                                        const std::stop_token& stop) {
  std::array<char, 12> bytes{};
  if (!ReadAt(file, offset, bytes, stop).ok()) return std::nullopt;
  Decoder header({bytes.data(), bytes.size()});
  const std::uint64_t length = header.U64();
  if (header.U32() != MaskCrc32c(Crc32c({bytes.data(), 8}))) return std::nullopt;
  const std::uint64_t left = file.size() - offset;
  if (left < kTfRecordOverhead || length > left - kTfRecordOverhead) return std::nullopt;
  return length + kTfRecordOverhead;
}

/// Reads the records of a shard, also those behind damaged ones. One thread at a time.
class ShardReader {
 public:
  /// `whole` reads `file` from its beginning.
  ShardReader(const ByteFile& file, ByteReader& whole, std::stop_token stop)
      : file_(file), stop_(std::move(stop)), frames_(std::in_place, whole, kMaxRecordBytes) {}

  std::uint64_t offset() const { return begin_ + frames_->offset(); }
  Result<std::optional<std::string_view>> Next() { return frames_->Next(); }

  /// After an error of Next: skips the record with the error. False: that is not possible.
  Result<bool> Resume() {
    const std::uint64_t at = offset();
    const std::optional<std::uint64_t> bytes = FrameBytes(file_, at, stop_);
    if (!bytes || ++resumes_ > kMaxResumes) return false;
    ASSIGN_OR_RETURN(std::unique_ptr<ByteReader> behind, file_.Open(at + *bytes, stop_));
    frames_.emplace(*behind, kMaxRecordBytes);
    behind_ = std::move(behind);
    begin_ = at + *bytes;
    return true;
  }

 private:
  const ByteFile& file_;
  const std::stop_token stop_;
  std::uint64_t begin_ = 0;             // the offset in the file at which frames_ begins
  std::unique_ptr<ByteReader> behind_;  // the input of frames_ after Resume; null: before
  std::optional<TfRecordReader> frames_;
  int resumes_ = 0;
};

/// Returns the number of frames; absent: the end could not be reached.
Result<std::optional<std::uint64_t>> VerifyFrames(
    ShardReader& shard, const std::function<std::string(const ShardRecord& record)>& wrong_with,
    Findings& findings, std::uint64_t& good) {
  for (std::uint64_t record = 0;; ++record) {
    const std::uint64_t at = shard.offset();
    const auto add = [&](std::string_view what) {
      findings.Add(StrCat("record ", record, " at byte ", at, ": ", what));
    };
    const Result<std::optional<std::string_view>> next = shard.Next();
    if (next.ok() && !*next) return std::optional(record);
    if (next.ok()) {
      ++good;
      const std::string wrong = wrong_with({record, at, **next});
      if (!wrong.empty()) add(wrong);
      continue;
    }
    if (next.status().code() == Code::kCancelled) return next.status();
    const auto* const damaged = next.status().Detail<DamagedRecord>();
    add(damaged == nullptr ? next.status().message() : std::string_view(damaged->why));
    ASSIGN_OR_RETURN(const bool resumed, shard.Resume());
    if (resumed) continue;
    findings.Add(StrCat("the bytes after byte ", at, " cannot be divided into records"));
    return std::nullopt;
  }
}

/// Reads the rest of the object, and compares the whole with the manifest.
Status FinishBytes(MeasuredReader& reader, const StoredObject& object, Findings& findings,
                   ReadCounts& counts) {
  Status drained = reader.Drain();
  counts.bytes += reader.bytes();
  if (drained.code() == Code::kCancelled) return drained;
  if (drained.ok())
    CompareBytes(reader, object, findings);
  else
    findings.Add(StrCat("cannot be read: ", drained.message()));
  return {};
}

/// Checks the rows of a batch, the first of which is the record `first`.
void VerifyRows(const Batch& batch, std::uint64_t first, const Schema& schema, Findings& findings,
                ReadCounts& counts) {
  for (std::size_t row = 0; row < batch.size(); ++row) {
    const auto add = [&](std::string_view what) {
      findings.Add(StrCat("record ", first + row, " (index ", batch.heads[row].index, "): ", what));
    };
    if (!batch.text.empty()) {
      const std::string wrong = WrongWithText(batch.text[row]);
      if (!wrong.empty()) add(wrong);
    }
    const std::size_t split = batch.split.empty() ? 0 : batch.split[row];
    if (split < schema.splits.size())
      ++counts.records[schema.splits[split]];
    else
      add(StrCat("belongs to split ", split, " of ", schema.splits.size()));
  }
}

}  // namespace

std::string WrongWithText(std::string_view text) {
  const std::size_t clean = CleanUtf8Prefix(text);
  if (clean == text.size()) return {};
  return StrCat("its text ", text[clean] == '\0' ? "holds NUL" : "is not UTF-8", " at byte ", clean);
}

Status VerifyBytes(const ByteFile& file, const StoredObject& object, const std::stop_token& stop,
                   Findings& findings, ReadCounts& counts) {
  ASSIGN_OR_RETURN(std::unique_ptr<ByteReader> input, file.Open(0, stop));
  MeasuredReader reader(std::move(input));
  return FinishBytes(reader, object, findings, counts);
}

Status VerifyRecords(const ByteFile& file, const ManifestShard& shard,
                     const std::function<std::string(const ShardRecord& record)>& wrong,
                     const std::stop_token& stop, Findings& findings, ReadCounts& counts) {
  ASSIGN_OR_RETURN(std::unique_ptr<ByteReader> input, file.Open(0, stop));
  MeasuredReader reader(std::move(input));
  ShardReader frames(file, reader, stop);
  ASSIGN_OR_RETURN(const std::optional<std::uint64_t> records,
                   VerifyFrames(frames, wrong, findings, counts.records[shard.split]));
  if (records && *records != shard.records)
    findings.Add(StrCat("has ", *records, " records where the manifest says ", shard.records));
  return FinishBytes(reader, shard.object, findings, counts);
}

Status VerifyLines(const ByteFile& file, const ManifestShard& shard,
                   const std::function<std::string(std::string_view line)>& wrong,
                   const std::stop_token& stop, Findings& findings, ReadCounts& counts) {
  ASSIGN_OR_RETURN(std::unique_ptr<ByteReader> input, file.Open(0, stop));
  MeasuredReader reader(std::move(input));
  std::string chunk(kBatchBytes, '\0'), line;
  std::uint64_t lines = 0;
  while (true) {
    const Result<std::size_t> got = reader.Read(chunk);
    if (!got.ok() || *got == 0) break;  // FinishBytes reports it
    std::string_view rest(chunk.data(), *got);
    for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      line += rest.substr(0, end);
      rest.remove_prefix(end + 1);
      const std::string what = wrong(line);
      if (!what.empty()) findings.Add(StrCat("line ", lines + 1, ": ", what));
      ++lines;
      line.clear();
    }
    if (line.size() + rest.size() > kMaxLineBytes) {
      counts.records[shard.split] += lines;
      findings.Add(StrCat("line ", lines + 1, ": longer than ", HumanBytes(kMaxLineBytes),
                          ": the rest cannot be divided into lines"));
      return FinishBytes(reader, shard.object, findings, counts);
    }
    line += rest;
  }
  counts.records[shard.split] += lines;
  if (!line.empty()) findings.Add(StrCat("line ", lines + 1, ": does not end"));
  if (lines != shard.records)
    findings.Add(StrCat("has ", lines, " lines where the manifest says ", shard.records));
  return FinishBytes(reader, shard.object, findings, counts);
}

Status VerifyPartition(const std::shared_ptr<const ByteFile>& file, const PartitionOutput& output,
                       const StoredObject& object, const Schema& schema, const std::stop_token& stop,
                       Findings& findings, ReadCounts& counts) {
  RETURN_IF_ERROR(VerifyBytes(*file, object, stop, findings, counts));
  const auto damaged = [&](const Status& why) -> Status {
    if (why.code() == Code::kCancelled) return why;
    const auto* const fact = why.Detail<DamagedOutputDetail>();
    findings.Add(fact == nullptr ? why.message() : std::string_view(fact->why));
    return {};
  };
  Result<std::unique_ptr<Source>> source =
      OpenPartitionFile(file, output.id, schema, kBatchBytes, stop, output.committed.digest);
  if (!source.ok()) return damaged(source.status());
  Batch batch;
  for (std::uint64_t first = 0;; first += batch.size()) {
    batch.Clear(1);
    const Result<bool> more = (*source)->Next(batch);
    if (!more.ok()) return damaged(more.status());
    if (!*more) break;
    VerifyRows(batch, first, schema, findings, counts);
  }
  for (const std::string& split : schema.splits) {
    const auto promised = output.splits.find(split);
    const std::uint64_t expected = promised == output.splits.end() ? 0 : promised->second.records;
    const auto found = counts.records.find(split);
    const std::uint64_t records = found == counts.records.end() ? 0 : found->second;
    if (records != expected)
      findings.Add(
          StrCat("has ", records, " records of split ", split, " where the manifest says ", expected));
  }
  return {};
}

}  // namespace pipeline
