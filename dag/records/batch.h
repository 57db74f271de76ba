// A batch of records, which travels through a segment.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "dag/records/counts.h"

namespace pipeline {

/// A fixed slice of one input, named IIII-PPPPP. Its borders depend on the input alone.
struct PartitionId {
  std::uint32_t input = 0;
  std::uint32_t partition = 0;
  auto operator<=>(const PartitionId&) const = default;
};

/// Position of a record in its partition. Survives every Transform.
struct RecordHead {
  std::uint64_t index = 0;     // position in the partition as the Source counted it
  std::uint32_t sub = 0;       // number among the records that a stage made from one
  std::uint64_t document = 0;  // ordinal of its document in the input
  std::uint64_t key = 0;       // document key: XXH3-64 of the document's first 1 KiB of raw bytes
};

/// Byte strings stored back to back; row r is [end of r-1, end of r).
class BytesColumn {
 public:
  std::size_t size() const { return ends_.size(); }
  bool empty() const { return ends_.empty(); }
  std::size_t bytes() const { return bytes_.size(); }
  std::string_view operator[](std::size_t row) const {
    const std::size_t begin = row == 0 ? 0 : ends_[row - 1];
    return std::string_view(bytes_).substr(begin, ends_[row] - begin);
  }
  void Append(std::string_view value) {
    bytes_.append(value);
    ends_.push_back(static_cast<std::uint32_t>(bytes_.size()));
  }
  /// For a writer that appends a row in parts: any number of open_row().append(), one CloseRow().
  std::string& open_row() { return bytes_; }
  void CloseRow() { ends_.push_back(static_cast<std::uint32_t>(bytes_.size())); }
  /// All rows, back to back.
  std::string_view joined() const { return bytes_; }
  /// End of each row in joined().
  std::span<const std::uint32_t> ends() const { return ends_; }
  void Clear() { bytes_.clear(), ends_.clear(); }
  void Swap(BytesColumn& other) noexcept { bytes_.swap(other.bytes_), ends_.swap(other.ends_); }

 private:
  std::string bytes_;
  std::vector<std::uint32_t> ends_;  // a batch stays below 4 GiB: records are at most 8 MiB by default
};

/// Lists of numbers stored back to back; row r is [end of r-1, end of r).
class U32ListColumn {
 public:
  std::size_t size() const { return ends_.size(); }
  bool empty() const { return ends_.empty(); }
  std::span<const std::uint32_t> operator[](std::size_t row) const {
    const std::size_t begin = row == 0 ? 0 : ends_[row - 1];
    return std::span(numbers_).subspan(begin, ends_[row] - begin);
  }
  void Append(std::span<const std::uint32_t> row) {
    numbers_.insert(numbers_.end(), row.begin(), row.end());
    CloseRow();
  }
  /// For a writer that appends a row in parts: any number of open_row().push_back(), one CloseRow().
  std::vector<std::uint32_t>& open_row() { return numbers_; }
  void CloseRow() { ends_.push_back(static_cast<std::uint32_t>(numbers_.size())); }
  /// All rows, back to back.
  std::span<const std::uint32_t> joined() const { return numbers_; }
  /// End of each row in joined().
  std::span<const std::uint32_t> ends() const { return ends_; }
  void Clear() { numbers_.clear(), ends_.clear(); }
  void Swap(U32ListColumn& other) noexcept { numbers_.swap(other.numbers_), ends_.swap(other.ends_); }

 private:
  std::vector<std::uint32_t> numbers_;
  std::vector<std::uint32_t> ends_;
};

/// A dropped or altered record in its original form, with the reason.
struct Quarantined {
  std::uint32_t stage = 0;  // position in the segment's chain; 0 is the Source
  std::uint64_t index = 0;
  std::uint32_t sub = 0;
  std::string reason;
  std::string bytes;  // input of the stage; may be invalid UTF-8
};

/// End of a partition, known when its Source closes it.
struct PartitionEnd {
  std::uint64_t raw_end = 0;       // offset in the decoded input just after the partition
  std::uint64_t document_end = 0;  // ordinal of the next document of the input
};

/// Totals of a whole input, known when its Source has reached the end.
struct InputEnd {
  std::uint32_t partitions = 0;
  std::uint64_t raw_bytes = 0;
  std::uint64_t documents = 0;
  /// Counts outside all partitions: blank lines before the first record, an input without text.
  StageCounts outside;
};

/// Consecutive records of one partition. Owned by one thread at a time. Reused, so that the memory of a
/// segment is the number of its batches times their size.
struct Batch {
  // Set by the segment.
  std::uint64_t sequence = 0;  // order in which the Source made it
  Status status;               // reason why processing stopped here; a failed batch goes on to the sink

  // Set by the Source.
  PartitionId partition;
  bool closes = false;  // the partition ends with this batch, which may be empty
  PartitionEnd end;     // valid with `closes`

  // Columns: row r of each belongs to record r. A column that the schema does not name is empty.
  std::vector<RecordHead> heads;
  BytesColumn text;
  U32ListColumn fields;             // end of each field in `text`, in bytes; one space separates two fields
  U32ListColumn cuts;               // end of each morpheme in `text`, in bytes
  U32ListColumn ids;                // from the tokenizer
  U32ListColumn id_ends;            // parallel to `ids`: end of each id in `text`, in bytes
  BytesColumn label;                // class of the record
  std::vector<std::uint8_t> split;  // index into the schema's split names

  /// Output of the Sink's encoder: a row for each record, in the form of that Sink. If its shards have an
  /// index, the numbers of the index stand in front of the row (stages/shards/sharded_stage.h, ShardIndex).
  BytesColumn payload;

  std::vector<StageCounts> counts;  // one per stage of the segment's chain, Source first
  std::vector<Quarantined> quarantine;
  /// With a failed status: `index` of the lowest record that failed. Absent: no record is at fault.
  std::optional<std::uint64_t> failed_index;

  std::size_t size() const { return heads.size(); }

  /// Keeps only `rows` (ascending), in every column that is present.
  void Keep(std::span<const std::uint32_t> rows);
  /// The same without `text`, for a stage that builds `text` anew.
  void KeepBesideText(std::span<const std::uint32_t> rows);
  /// Replaces the records by the records at `rows`: ascending, each any number of times.
  void Repeat(std::span<const std::uint32_t> rows);
  /// Appends the head and columns of row `row` of `from`, which has the same columns.
  void AppendRow(const Batch& from, std::size_t row);

  /// Empties the batch for its next use; keeps its memory.
  void Clear(std::size_t stages) {
    sequence = 0, status = Status(), partition = {}, closes = false, end = {}, failed_index = std::nullopt;
    heads.clear(), text.Clear(), fields.Clear(), cuts.Clear(), ids.Clear(), id_ends.Clear(), label.Clear(),
        split.clear();
    payload.Clear(), quarantine.clear();
    counts.assign(stages, {});
  }
};

}  // namespace pipeline
