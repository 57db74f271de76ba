#include "stages/shards/corpus_ranges.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/crc32c.h"
#include "formats/coding.h"
#include "stages/shards/corpus_order.h"
#include "stages/shards/shard_ranges.h"
#include "stages/shards/shard_writer.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kMostRowIndex = std::uint64_t{1} << 30;   // bytes, of one partition
constexpr std::size_t kReadBytes = 128 << 10;                     // at once
constexpr std::uint64_t kGroupedBytes = std::uint64_t{64} << 20;  // of the shards of a group, about

/// Reads the rows of one part, in order.
class PartRows {
 public:
  /// Checks all bytes of the part first: a shard that has some of its rows is published before the others
  /// are read. The errors name the part (dag/records/partition_output.h).
  static Result<std::unique_ptr<PartRows>> Open(Store& artifact, const CorpusPart& part, std::size_t numbers,
                                                std::uint64_t first, const std::stop_token& stop) {
    std::unique_ptr<PartRows> rows(new PartRows(part.object.name, numbers));
    Result<std::string> index = ReadObject(artifact, part.index->name, kMostRowIndex, stop);
    if (!index.ok()) return OutputError(part.index->name, std::move(index).status());
    if (index->size() != part.index->bytes || Crc32c(*index) != part.index->crc32c)
      return OutputError(part.index->name, Status(Code::kDataLoss, "has other bytes than were written"));
    rows->index_ = std::move(index).value();
    rows->next_ = first;
    Status opened = rows->OpenFile(artifact, part.object, stop);
    if (!opened.ok()) return OutputError(part.object.name, std::move(opened));
    return rows;
  }

  /// Returns the payload of the next row, the numbers for its index in front. There must be one.
  Result<std::string_view> Next() {
    Status read = ReadNext();
    if (!read.ok()) return OutputError(name_, std::move(read));
    return std::string_view(payload_);
  }

 private:
  PartRows(std::string name, std::size_t numbers)
      : name_(std::move(name)), entry_bytes_(IndexEntryBytes(numbers)) {}

  Status OpenFile(Store& artifact, const StoredObject& object, const std::stop_token& stop) {
    ASSIGN_OR_RETURN(file_, artifact.Open(object.name));
    std::uint32_t crc = 0;
    std::uint64_t bytes = 0;
    buffer_.resize(kReadBytes);
    ASSIGN_OR_RETURN(reader_, file_->Open(0, stop));
    for (;;) {
      ASSIGN_OR_RETURN(const std::size_t got, reader_->Read(buffer_));
      if (got == 0) break;
      crc = Crc32c(std::string_view(buffer_).substr(0, got), crc);
      bytes += got;
    }
    if (bytes != object.bytes || crc != object.crc32c)
      return Status(Code::kDataLoss, "has other bytes than were written");
    buffer_.clear();
    ASSIGN_OR_RETURN(reader_, file_->Open(OffsetOf(next_), stop));
    return {};
  }

  std::uint64_t OffsetOf(std::uint64_t row) const {
    const std::size_t at = row * entry_bytes_;
    return at < index_.size() ? Decoder(std::string_view(index_).substr(at)).U64() : file_->size();
  }

  Status ReadNext() {
    const std::size_t numbers = next_ * entry_bytes_ + sizeof(std::uint64_t);
    const std::uint64_t begin = OffsetOf(next_), end = OffsetOf(next_ + 1);
    if (end < begin) return Status(Code::kDataLoss, "its index is not in order");
    payload_.assign(index_, numbers, entry_bytes_ - sizeof(std::uint64_t));
    ++next_;
    for (std::uint64_t left = end - begin; left > 0;) {
      if (at_ == buffer_.size()) {
        buffer_.resize(kReadBytes);
        ASSIGN_OR_RETURN(const std::size_t got, reader_->Read(buffer_));
        if (got == 0) return Status(Code::kDataLoss, "ends before its last row");
        buffer_.resize(got);
        at_ = 0;
      }
      const auto some = static_cast<std::size_t>(std::min<std::uint64_t>(left, buffer_.size() - at_));
      payload_.append(buffer_, at_, some);
      at_ += some;
      left -= some;
    }
    return {};
  }

  const std::string name_;
  const std::size_t entry_bytes_;
  std::string index_;
  std::unique_ptr<ByteFile> file_;
  std::unique_ptr<ByteReader> reader_;
  std::uint64_t next_ = 0;  // row
  std::string buffer_;
  std::size_t at_ = 0;  // in buffer_, of the next row
  std::string payload_;
};

/// All rows of one split, by part.
struct CorpusRows {
  std::vector<CorpusPart> parts;
  std::vector<std::uint64_t> begins;  // number of the first row of each part
  std::uint64_t records = 0, bytes = 0;
};

class CorpusRangePublication final : public RangePublication {
 public:
  using RangePublication::RangePublication;

  Status Plan(const std::vector<PartitionOutput>& outputs) {
    const ShardRules made_by = RulesOfRows(rules_);
    Hasher all;
    for (const PartitionOutput& output : outputs)
      all.UpdateU64(output.committed.digest.high).UpdateU64(output.committed.digest.low);
    const Digest digest = all.Finish();
    for (const std::string& split : rules_.splits) {
      CorpusRows& rows = splits_.emplace_back();
      for (const PartitionOutput& output : outputs) {
        ASSIGN_OR_RETURN(std::optional<CorpusPart> part, CorpusPartOf(made_by, output, split));
        if (!part) continue;
        rows.begins.push_back(rows.records);
        rows.records += part->records;
        rows.bytes += part->object.bytes;
        rows.parts.push_back(std::move(*part));
      }
      RETURN_IF_ERROR(AddShards(splits_.size() - 1, rows.records, rows.bytes, digest));
    }
    return {};
  }

  std::vector<std::vector<std::size_t>> Groups(std::uint64_t) const override {
    std::vector<std::vector<std::size_t>> groups;
    std::uint64_t bytes = 0;  // of the last group
    for (std::size_t shard = 0; shard < shards_.size(); ++shard) {
      const std::size_t split = places_[shard].split;
      const std::uint64_t more = splits_[split].bytes / shards_[shard].count;
      const bool joins = !groups.empty() && places_[groups.back().front()].split == split;
      if (!joins || bytes + more > kGroupedBytes) groups.emplace_back(), bytes = 0;
      groups.back().push_back(shard);
      bytes += more;
    }
    return groups;
  }

  std::unique_ptr<GroupWriter> OpenGroup(GroupRequest request) const override;

 private:
  class RangeWriter;

  std::vector<CorpusRows> splits_;  // by number
};

class CorpusRangePublication::RangeWriter final : public GroupWriter {
 public:
  RangeWriter(const CorpusRangePublication& plan, GroupRequest request)
      : plan_(plan), request_(std::move(request)) {}

  Result<std::unique_ptr<UncommittedShard>> WriteNext(const ShardConditions& conditions) override {
    const std::size_t at = request_.shards[next_++];
    const Shard& shard = plan_.shards_[at];
    ASSIGN_OR_RETURN(
        std::unique_ptr<ShardWriter> writer,
        ShardWriter::Create(*request_.out, {shard.object, shard.index}, plan_.rules_, conditions));
    const CorpusRows& rows = plan_.splits_[plan_.places_[at].split];
    const ShardRange range = plan_.places_[at].range;
    for (std::uint64_t row = range.begin; row < range.end;) {
      if (request_.stop.stop_requested()) return Status(Code::kCancelled, "shards: stopped");
      const auto after = std::upper_bound(rows.begins.begin(), rows.begins.end(), row);
      const auto part = static_cast<std::size_t>(after - rows.begins.begin()) - 1;
      if (part_ != &rows.parts[part] || row != row_) {
        part_ = nullptr;
        ASSIGN_OR_RETURN(rows_,
                         PartRows::Open(plan_.artifact_, rows.parts[part], plan_.rules_.index_numbers(),
                                        row - rows.begins[part], request_.stop));
        part_ = &rows.parts[part];
      }
      const std::uint64_t end = std::min(range.end, rows.begins[part] + part_->records);
      for (; row < end; ++row) {
        ASSIGN_OR_RETURN(const std::string_view payload, rows_->Next());
        RETURN_IF_ERROR(writer->Append(payload));
      }
      row_ = row;
    }
    return writer;
  }

 private:
  const CorpusRangePublication& plan_;
  const GroupRequest request_;
  std::size_t next_ = 0;              // position in GroupRequest::shards
  const CorpusPart* part_ = nullptr;  // that rows_ reads
  std::unique_ptr<PartRows> rows_;
  std::uint64_t row_ = 0;  // of the split, that rows_ gives next
};

std::unique_ptr<GroupWriter> CorpusRangePublication::OpenGroup(GroupRequest request) const {
  return std::make_unique<RangeWriter>(*this, std::move(request));
}

}  // namespace

ShardRules RulesOfRows(ShardRules rules) {
  rules.index = ShardIndex{rules.index_numbers(), {}};
  rules.form = {};
  return rules;
}

Result<std::unique_ptr<Publication>> PlanCorpusRanges(const ShardRules& rules, Store& artifact,
                                                      std::vector<PartitionOutput> outputs) {
  std::sort(outputs.begin(), outputs.end(),
            [](const PartitionOutput& a, const PartitionOutput& b) { return a.id < b.id; });
  auto plan = std::make_unique<CorpusRangePublication>(rules, artifact);
  RETURN_IF_ERROR(plan->Plan(outputs));
  return plan;
}

}  // namespace pipeline
