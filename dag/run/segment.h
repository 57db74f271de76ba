// Runs one chain Source -> Transform* -> Sink, fused: a batch passes through every stage while it is in the
// cache.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "dag/progress.h"
#include "dag/records/batch.h"
#include "dag/records/sink.h"
#include "dag/records/source.h"
#include "dag/records/transform.h"

namespace pipeline {

/// The threads that process batches. One per run; safe from any thread.
class Arena {
 public:
  /// `slots` threads may be inside at the same time, callers included.
  explicit Arena(int slots);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

 private:
  friend class SegmentRun;
  struct State;
  std::unique_ptr<State> state_;
};

/// A Transform in the chain. Several may count under one stage (a Source and its repair).
struct ChainTransform {
  const Transform* transform;
  std::uint32_t stage;  // position of its counts in Batch::counts
  /// False: it only converts records for the Sink, and the stage has counted them already.
  bool counted = true;
};

/// The result of one partition, before it is logged.
struct ClosedPartition {
  PartitionId id;
  /// Not OK: a Transform or the Sink failed. Then `sink` is null and there are no counts, because the
  /// progress of the other stages depends on timing.
  Status failure;
  std::optional<std::uint64_t> failed_index;  // of the lowest record that failed; absent: none is at fault
  std::unique_ptr<Sink> sink;                 // written, not committed
  PartitionEnd end;
  std::uint64_t records = 0;
  std::vector<StageCounts> counts;  // by stage of the chain
  std::map<std::string, ArtifactTotals::Split, std::less<>> splits;
};

/// Receives partitions. The thread that holds the in-order sink calls `Open` and `Keep`, one call at a
/// time; the unit's committer thread calls `Commit`, in order, while the next partition is written.
class SegmentOutput {
 public:
  virtual ~SegmentOutput() = default;
  virtual Result<std::unique_ptr<Sink>> Open(PartitionId id) = 0;
  /// Quarantines the records that stages dropped or altered, in order.
  virtual Status Keep(PartitionId id, const std::vector<Quarantined>& records) = 0;
  /// Commits and logs the partition, or logs its failure. An error ends the segment.
  virtual Status Commit(ClosedPartition partition) = 0;
};

struct SegmentSpec {
  std::vector<ChainTransform> transforms;  // repair, transforms, encoder: in the order of the chain
  std::uint32_t stages = 1;                // number of stages that count; the Source's is 0
  std::uint32_t source_stage = 0;          // the stage that the Source's time is counted for
  std::vector<std::string> splits;         // names for Batch::split; one name if no stage splits
  std::size_t tokens = 4;                  // batches alive at the same time; this bounds the memory
  // Text of all batches alive, as the Source gives it. Long records: fewer batches are alive, down to one.
  std::uint64_t text_bytes = UINT64_MAX;
  std::size_t waiting_partitions = 2;  // partitions that may wait for the committer thread
  RecordObserver* watch = nullptr;     // null: no record is watched
  std::vector<std::string> names;      // of the stages by number, for the watch
};

/// The batch and the Workers of one chain, which one input after the other uses. One thread at a time.
class SegmentScratch {
 public:
  SegmentScratch();
  ~SegmentScratch();
  SegmentScratch(const SegmentScratch&) = delete;
  SegmentScratch& operator=(const SegmentScratch&) = delete;

 private:
  friend class SegmentRun;
  struct State;
  std::unique_ptr<State> state_;
};

/// Runs `source` to its end. Returns OK at the end, even if single partitions failed: `output` gets those
/// failures. Otherwise returns the Source's failure, an error of output.Commit, or kCancelled once `stop` is
/// set. Partitions that closed before are committed, unless their Sink takes long and checks `stop` itself;
/// the open partition never existed. Any number of threads and tokens leads to the same calls of Open and
/// Commit with the same bytes.
Status RunSegment(Arena& arena, Source& source, const SegmentSpec& spec, SegmentOutput& output,
                  SegmentProgress& progress, std::stop_token stop);

/// Does the same on the calling thread alone: one batch is alive, and `output` gets the calls of Commit
/// between the others. Starting threads for a small input costs more than the input. `scratch` is used for
/// one `spec` only.
Status RunSmallSegment(Source& source, const SegmentSpec& spec, SegmentOutput& output,
                       SegmentProgress& progress, SegmentScratch& scratch, std::stop_token stop);

}  // namespace pipeline
