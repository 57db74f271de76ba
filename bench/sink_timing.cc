#include "bench/sink_timing.h"

#include <memory>
#include <utility>

#include "bench/cpu_seconds.h"
#include "storage/memory_store.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kMemory = 1 << 30;
constexpr int kRounds = 3;

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
  ASSIGN_OR_RETURN(WrittenShards best, OneRound(stage, partitions));
  for (int round = 1; round < kRounds; ++round) {
    ASSIGN_OR_RETURN(const WrittenShards written, OneRound(stage, partitions));
    if (written.seconds < best.seconds) best = written;
  }
  return best;
}

}  // namespace pipeline
