#include "stages/shards/shuffle.h"

#include <algorithm>
#include <utility>

#include "base/str.h"
#include "dag/records/partition_output.h"
#include "stages/shards/shard_ranges.h"
#include "stages/shards/shard_writer.h"
#include "stages/shards/spill_sink.h"

namespace pipeline {

namespace {

/// Bytes of a row in a window beside its payload: hash, index, sub and length.
constexpr std::uint64_t kRowBytes = 16;

}  // namespace

Result<std::unique_ptr<ShufflePublication>> ShufflePublication::Plan(const ShardRules& rules, Store& artifact,
                                                                     std::vector<PartitionOutput> outputs) {
  std::sort(outputs.begin(), outputs.end(),
            [](const PartitionOutput& a, const PartitionOutput& b) { return a.id < b.id; });
  std::unique_ptr<ShufflePublication> plan(new ShufflePublication(rules, artifact));
  plan->splits_.resize(rules.splits.size());
  std::vector<std::vector<SpillBin>> bins(rules.splits.size());
  for (std::vector<SpillBin>& of_split : bins) of_split.resize(kSpillBins);
  Hasher all;
  for (const PartitionOutput& output : outputs) {
    RETURN_IF_ERROR(plan->AddSpill(output, bins));
    all.UpdateU64(output.committed.digest.high).UpdateU64(output.committed.digest.low);
  }
  for (std::size_t number = 0; number < bins.size(); ++number) {
    SpilledSplit& split = plan->splits_[number];
    std::uint64_t position = 0;
    std::uint64_t bytes = 0;
    for (const SpillBin& bin : bins[number]) {
      split.positions.push_back(position);
      split.bytes.push_back(bin.bytes + kRowBytes * bin.records);
      position += bin.records;
      bytes += bin.bytes;
    }
    split.positions.push_back(position);
    // The numbers for the index are part of no shard.
    bytes -= position * rules.index_numbers() * sizeof(std::uint32_t);
    RETURN_IF_ERROR(plan->AddShards(number, position, bytes, all.Finish()));
  }
  return plan;
}

Status ShufflePublication::AddSpill(const PartitionOutput& output, std::vector<std::vector<SpillBin>>& bins) {
  std::vector<Digest> digests;
  std::string object;
  for (const StoredObject& stored : output.committed.objects) {
    if (!stored.name.ends_with(kSpillSuffix)) continue;
    object = stored.name;
    ASSIGN_OR_RETURN(digests.emplace_back(), AddSpillFile(output.id, stored, bins));
  }
  if (!digests.empty() && SpillsDigest(digests) == output.committed.digest) return {};
  return OutputError(object.empty() ? OutputName(output.id, kSpillSuffix) : object,
                     Status(Code::kDataLoss, "has another digest than its log line says"));
}

/// Returns the digest of the records of the spill.
Result<Digest> ShufflePublication::AddSpillFile(PartitionId id, const StoredObject& stored,
                                                std::vector<std::vector<SpillBin>>& bins) {
  const std::string& object = stored.name;
  const auto damaged = [&object](std::string why) {
    return OutputError(object, Status(Code::kDataLoss, std::move(why)));
  };
  Result<std::unique_ptr<ByteFile>> file = artifact_.Open(object);
  if (!file.ok()) return OutputError(object, std::move(file).status());
  if (stored.bytes != (*file)->size())
    return damaged(StrCat("has ", (*file)->size(), " bytes where ", stored.bytes, " were written"));
  Result<SpillIndex> read = ReadSpillIndex(**file, {});
  if (!read.ok()) return OutputError(object, std::move(read).status());
  SpillIndex& index = *read;
  counters_.bytes_read += index.footer_bytes;
  if (PartitionId{index.input, index.partition} != id) return damaged("is of another partition");
  for (SpillSplit& split : index.splits) {
    if (split.number >= splits_.size())
      return damaged(StrCat("has split ", split.number, " where there are ", splits_.size()));
    for (const SpillBin& bin : split.bins) {
      bins[split.number][bin.bin].records += bin.records;
      bins[split.number][bin.bin].bytes += bin.bytes;
    }
    splits_[split.number].parts.push_back({object, index.compressed, std::move(split.frames)});
  }
  return index.digest;
}

std::vector<std::vector<std::size_t>> ShufflePublication::Groups(std::uint64_t memory_bytes) const {
  const std::uint64_t bucket_bytes = memory_bytes / 4;
  // The bucket of each bin, split by split. A bin is never divided; a bin that is too large is read in
  // slices.
  std::vector<std::vector<std::uint32_t>> buckets;
  for (const SpilledSplit& split : splits_) {
    std::vector<std::uint32_t>& bucket_of = buckets.emplace_back();
    std::uint32_t bucket = 0;
    std::uint64_t bytes = 0;
    for (const std::uint64_t bin_bytes : split.bytes) {
      if (bytes > 0 && bytes + bin_bytes > bucket_bytes) ++bucket, bytes = 0;
      bytes += bin_bytes;
      bucket_of.push_back(bucket);
    }
  }
  std::vector<std::vector<std::size_t>> groups;
  std::pair<std::size_t, std::uint32_t> last_group;
  for (std::size_t shard = 0; shard < places_.size(); ++shard) {
    const auto& [split, range] = places_[shard];
    const bool empty = splits_[split].records() == 0;
    const std::uint32_t bucket = empty ? 0 : buckets[split][splits_[split].BinOf(range.begin)];
    if (groups.empty() || last_group != std::pair(split, bucket)) groups.emplace_back();
    last_group = {split, bucket};
    groups.back().push_back(shard);
  }
  return groups;
}

/// Merges the rows of the shards of one bucket.
class ShufflePublication::BucketWriter final : public GroupWriter {
 public:
  BucketWriter(const ShufflePublication& plan, GroupRequest request)
      : plan_(plan), request_(std::move(request)) {}

  Result<std::unique_ptr<UncommittedShard>> WriteNext(const ShardConditions& conditions) override {
    if (request_.stop.stop_requested()) return Status(Code::kCancelled, "shuffle: stopped");
    const std::size_t at = next_++;
    const Shard& shard = plan_.shards_[request_.shards[at]];
    const Place& place = PlaceOf(at);
    if (!merger_ || PlaceOf(at - 1).split != place.split)
      merger_ = std::make_unique<SpillMerger>(plan_.artifact_, plan_.splits_[place.split],
                                              request_.memory_bytes, plan_.counters_, request_.stop);
    ASSIGN_OR_RETURN(
        std::unique_ptr<ShardWriter> writer,
        ShardWriter::Create(*request_.out, {shard.object, shard.index}, plan_.rules_, conditions));
    RETURN_IF_ERROR(merger_->Copy(place.range.begin, place.range.end, EndWithoutGap(at),
                                  [&writer](std::string_view payload) { return writer->Append(payload); }));
    return writer;
  }

 private:
  const Place& PlaceOf(std::size_t at) const { return plan_.places_[request_.shards[at]]; }

  /// Returns the end of the last shard that follows without a gap, because the data that is loaded for this
  /// shard may serve the others.
  std::uint64_t EndWithoutGap(std::size_t at) const {
    const std::size_t split = PlaceOf(at).split;
    std::uint64_t until = PlaceOf(at).range.end;
    for (std::size_t next = at + 1; next < request_.shards.size(); ++next) {
      const Place& follower = PlaceOf(next);
      if (follower.split != split || follower.range.begin != until) break;
      until = follower.range.end;
    }
    return until;
  }

  const ShufflePublication& plan_;
  const GroupRequest request_;
  std::size_t next_ = 0;                 // position in GroupRequest::shards
  std::unique_ptr<SpillMerger> merger_;  // of the split of the last shard; null before the first
};

std::unique_ptr<GroupWriter> ShufflePublication::OpenGroup(GroupRequest request) const {
  return std::make_unique<BucketWriter>(*this, std::move(request));
}

}  // namespace pipeline
