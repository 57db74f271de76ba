#include "bench/sink_timing.h"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "base/crc32c.h"
#include "bench/cpu_seconds.h"
#include "formats/coding.h"
#include "storage/memory_store.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kMemory = 1 << 30;
constexpr int kRounds = 5;
constexpr int kLargestBlock = 32 << 20, kKept = 1 << 30;  // of the heap, in bytes

/// Memory of a round stays for the next. Otherwise the last block on the heap decides by chance whether each
/// round pays for fresh pages: a seventh of the time of `write_jsonl` by documents.
void KeepMemory() {
  mallopt(M_MMAP_THRESHOLD, kLargestBlock);
  mallopt(M_TRIM_THRESHOLD, kKept);
}

/// As a segment does it, on one thread.
class FirstPass {
 public:
  FirstPass(const SinkStage& stage, Store& artifact) : stage_(stage), artifact_(artifact) {}

  /// The piece of one partition; adds what it took to `seconds`.
  Result<PartitionOutput> Write(const std::vector<Batch>& batches, double& seconds) {
    if (stage_.encoder() && !worker_) {
      ASSIGN_OR_RETURN(worker_, stage_.encoder()->NewWorker());
    }
    const PartitionId id = batches.front().partition;
    ASSIGN_OR_RETURN(const std::unique_ptr<Sink> sink, stage_.OpenPartition(artifact_, id));
    for (const Batch& batch : batches) {
      if (worker_) encoded_ = batch;  // it may change every column
      StageCounts counts;
      const double began = CpuSeconds();
      if (worker_) RETURN_IF_ERROR(worker_->Apply(encoded_, 0, counts));
      RETURN_IF_ERROR(sink->Write(worker_ ? encoded_ : batch));
      seconds += CpuSeconds() - began;
    }
    const double began = CpuSeconds();
    ASSIGN_OR_RETURN(CommittedPartition output, sink->Commit({}));
    seconds += CpuSeconds() - began;
    return PartitionOutput{id, std::move(output), {}};
  }

 private:
  const SinkStage& stage_;
  Store& artifact_;
  std::unique_ptr<Worker> worker_;
  Batch encoded_;
};

Result<WrittenShards> OneRound(const SinkStage& stage, const std::vector<std::vector<Batch>>& partitions) {
  MemoryStore artifact, out;
  FirstPass first(stage, artifact);
  std::vector<PartitionOutput> outputs;
  double seconds = 0;
  for (const std::vector<Batch>& batches : partitions) {
    ASSIGN_OR_RETURN(outputs.emplace_back(), first.Write(batches, seconds));
  }
  const double began = CpuSeconds();
  ASSIGN_OR_RETURN(const std::unique_ptr<Publication> plan, stage.Plan(artifact, outputs));
  ASSIGN_OR_RETURN(WrittenShards written, WriteShards(*plan, out, kMemory));
  written.seconds = seconds + CpuSeconds() - began;
  return written;
}

/// The processor's time of a bare loop over as many rows of one size, `bytes` in all: it copies each with its
/// length and CRC-32C into one buffer, then in a random order into another, and checks each. A writer that
/// shuffles does at least that.
double BareSeconds(std::uint64_t records, std::uint64_t bytes) {
  constexpr std::size_t kHead = 12;  // length and CRC
  const std::size_t row = std::max<std::size_t>(1, bytes / std::max<std::uint64_t>(1, records));
  std::mt19937 random(0);
  std::string text(row * records, '\0');
  for (char& one : text) one = static_cast<char>(random());
  std::vector<std::size_t> order(records);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const double began = CpuSeconds();
  std::string spill, shard;
  for (std::size_t at = 0; at < text.size(); at += row) {
    const std::string_view bare = std::string_view(text).substr(at, row);
    PutU64(spill, row), PutU32(spill, Crc32c(bare));
    spill += bare;
  }
  std::shuffle(order.begin(), order.end(), random);
  for (const std::size_t number : order) {
    const std::string_view framed = std::string_view(spill).substr(number * (row + kHead), row + kHead);
    std::string crc;
    PutU32(crc, Crc32c(framed.substr(kHead)));
    if (framed.substr(kHead - crc.size(), crc.size()) != crc) std::abort();
    shard += framed;
  }
  return CpuSeconds() - began;
}

}  // namespace

Result<WrittenShards> WriteShards(const Publication& plan, Store& out, std::uint64_t memory_bytes) {
  WrittenShards written;
  for (const std::vector<std::size_t>& group : plan.Groups(memory_bytes)) {
    const std::unique_ptr<GroupWriter> writer = plan.OpenGroup({group, &out, memory_bytes, {}});
    for (std::size_t at = 0; at < group.size(); ++at) {
      ASSIGN_OR_RETURN(const std::unique_ptr<UncommittedShard> uncommitted,
                       writer->WriteNext({Condition::ReplaceAny(), Condition::ReplaceAny()}));
      ASSIGN_OR_RETURN(const ShardOutput shard, uncommitted->Commit({}));
      written.bytes += shard.object.bytes;
      written.records += shard.records;
    }
  }
  return written;
}

Result<WrittenShards> TimeSink(const SinkStage& stage, const std::vector<std::vector<Batch>>& partitions) {
  KeepMemory();
  std::vector<WrittenShards> rounds;
  for (int round = 0; round < kRounds; ++round) {
    ASSIGN_OR_RETURN(WrittenShards written, OneRound(stage, partitions));
    written.bare_seconds = BareSeconds(written.records, written.bytes);
    rounds.push_back(written);
  }
  std::sort(rounds.begin(), rounds.end(), [](const WrittenShards& a, const WrittenShards& b) {
    return a.seconds * b.bare_seconds < b.seconds * a.bare_seconds;
  });
  return rounds[kRounds / 2];
}

}  // namespace pipeline
