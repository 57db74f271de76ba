#include "stages/shards/spill_sink.h"

#include <algorithm>
#include <array>
#include <deque>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/str.h"
#include "dag/records/partition_output.h"
#include "formats/spill_file.h"
#include "stages/shards/measured_writer.h"

namespace pipeline {

namespace {

template <class Unsigned>
char* Put(char* at, Unsigned number) {
  for (std::size_t i = 0; i < sizeof(Unsigned); ++i) *at++ = static_cast<char>(number >> (8 * i));
  return at;
}

constexpr std::size_t kLeastFrameBytes = 4 << 10;  // shorter frames would make the index too large

/// Byte strings that never move. They grow by chunks, because a growing string would need twice the memory of
/// the partition for a moment.
class Payloads {
 public:
  std::string_view Put(std::string_view bytes) {
    if (bytes.size() > left_) {
      left_ = std::max(kChunkBytes, bytes.size());
      chunks_.push_back(std::make_unique_for_overwrite<char[]>(left_));
      next_ = chunks_.back().get();
    }
    char* const place = next_;
    std::copy(bytes.begin(), bytes.end(), place);
    next_ += bytes.size();
    left_ -= bytes.size();
    return {place, bytes.size()};
  }

 private:
  static constexpr std::size_t kChunkBytes = 1 << 20;
  std::vector<std::unique_ptr<char[]>> chunks_;
  char* next_ = nullptr;
  std::size_t left_ = 0;
};

struct Row {
  std::uint64_t index;
  std::string_view payload;
  std::uint32_t sub;
  std::uint8_t split;
};

/// The elements that are sorted: small, so that moves are cheap.
struct Key {
  std::uint64_t hash;
  std::uint32_t row;
  std::uint8_t split;
};

class SpillSink : public Sink {
 public:
  SpillSink(Store& artifact, PartitionId id, const SpillRules& rules)
      : artifact_(artifact), id_(id), rules_(rules) {}

  Status Write(const Batch& batch) override {
    if (batch.payload.size() != batch.size() || (!batch.split.empty() && batch.split.size() != batch.size()))
      return Status(Code::kInternal, StrCat("shuffle: ", batch.payload.size(), " payloads and ",
                                            batch.split.size(), " splits for ", batch.size(), " records"));
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const std::uint8_t split = batch.split.empty() ? std::uint8_t{0} : batch.split[i];
      rows_.push_back({batch.heads[i].index, payloads_.Put(batch.payload[i]), batch.heads[i].sub, split});
    }
    payload_bytes_ += batch.payload.bytes();
    if (rules_.most_bytes == 0 || payload_bytes_ < rules_.most_bytes) return {};
    return CommitPart(OutputName(id_, StrCat('.', parts_.size() + 1, kSpillSuffix)));
  }

  Result<CommittedPartition> Commit(const PartitionEnd&, std::stop_token) override {
    RETURN_IF_ERROR(CommitPart(OutputName(id_, kSpillSuffix)));
    CommittedPartition output;
    output.digest = SpillsDigest(digests_);
    output.objects = std::move(parts_);
    return output;
  }

 private:
  /// Writes the rows that are held as `name`, and holds none after it.
  Status CommitPart(const std::string& name) {
    if (rows_.size() > UINT32_MAX)
      return Status(Code::kResourceExhausted,
                    StrCat("shuffle: partition ", PartitionName(id_), " has ", rows_.size(),
                           " records, more than 4294967295; lower `partition` of the source"));
    ASSIGN_OR_RETURN(const std::unique_ptr<MeasuredWriter> object,
                     MeasuredWriter::Create(artifact_, name, Condition::ReplaceAny()));
    // A window of the second pass reads a small part of each spill. A short spill needs short frames, or most
    // bytes that are read belong to other windows.
    const std::size_t frame_bytes = std::clamp(payload_bytes_ / 512, kLeastFrameBytes, kSpillFrameBytes);
    SpillFileWriter spill(id_.input, id_.partition, {rules_.compress, frame_bytes},
                          [&object](std::string_view bytes) { return object->Append(bytes); });
    const std::vector<Key> keys = SortedKeys();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (i == 0 || keys[i].split != keys[i - 1].split)
        RETURN_IF_ERROR(spill.BeginSplit(keys[i].split, records_of_[keys[i].split]));
      const Row& row = rows_[keys[i].row];
      RETURN_IF_ERROR(spill.Add({keys[i].hash, row.index, row.sub, row.payload}));
    }
    ASSIGN_OR_RETURN(const Digest digest, spill.Finish());
    ASSIGN_OR_RETURN(StoredObject stored, object->Commit({}));
    digests_.push_back(digest);
    parts_.push_back(std::move(stored));
    payloads_ = {};
    payload_bytes_ = 0;
    rows_.clear();
    records_of_ = {};
    return {};
  }

  /// Returns the keys, sorted by (split, hash, origin).
  std::vector<Key> SortedKeys() {
    std::vector<Key> keys;
    keys.reserve(rows_.size());
    for (const Row& row : rows_) {
      const auto number = static_cast<std::uint32_t>(keys.size());
      keys.push_back({ShuffleHash(rules_.seed, id_, row.index, row.sub), number, row.split});
      ++records_of_[row.split];
    }
    std::sort(keys.begin(), keys.end(), [this](const Key& a, const Key& b) {
      if (a.split != b.split) return a.split < b.split;
      if (a.hash != b.hash) return a.hash < b.hash;
      const Row& row_a = rows_[a.row];
      const Row& row_b = rows_[b.row];
      return std::tie(row_a.index, row_a.sub, a.row) < std::tie(row_b.index, row_b.sub, b.row);
    });
    return keys;
  }

  Store& artifact_;
  const PartitionId id_;
  const SpillRules rules_;
  Payloads payloads_;
  std::size_t payload_bytes_ = 0;
  std::deque<Row> rows_;
  std::array<std::uint64_t, 256> records_of_{};  // by split
  std::vector<StoredObject> parts_;              // those that are committed
  std::vector<Digest> digests_;                  // of their records
};

}  // namespace

std::uint64_t ShuffleHash(std::uint64_t seed, PartitionId partition, std::uint64_t index, std::uint32_t sub) {
  char packed[28];
  char* at = Put(packed, seed);
  at = Put(at, partition.input);
  at = Put(at, partition.partition);
  at = Put(at, index);
  Put(at, sub);
  return Hash64(std::string_view(packed, sizeof(packed)));
}

Digest SpillsDigest(const std::vector<Digest>& parts) {
  if (parts.size() == 1) return parts.front();
  Hasher hasher;
  for (const Digest& part : parts) hasher.UpdateU64(part.high).UpdateU64(part.low);
  return hasher.Finish();
}

std::unique_ptr<Sink> NewSpillSink(Store& artifact, PartitionId id, const SpillRules& rules) {
  return std::make_unique<SpillSink>(artifact, id, rules);
}

}  // namespace pipeline
