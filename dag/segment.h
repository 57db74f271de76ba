// One chain Source -> Transform* -> Sink, fused: a batch passes through every stage while it is hot.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "dag/progress.h"
#include "records/batch.h"
#include "records/sink.h"
#include "records/source.h"
#include "records/transform.h"

namespace pipeline {

/// The threads that batches are processed on. One for a run; safe from any thread.
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

/// A Transform at its place; several may count under one stage (a Source and its repair).
struct Link {
  const Transform* transform;
  std::uint32_t stage;  // position of its counts in Batch::counts
  /// False for what only brings records into a form for the Sink: the stage has counted them already.
  bool counted = true;
};

/// What a partition came to, on its way to the log.
struct ClosedPartition {
  PartitionId id;
  /// Not OK: a Transform or the Sink failed, `sink` is null and there are no counts: how far the
  /// others came is a matter of timing.
  Status failure;
  std::uint64_t failed_index = 0;  // of the lowest record that failed
  std::unique_ptr<Sink> sink;      // written, not committed
  PartitionEnd end;
  std::uint64_t records = 0;
  std::vector<StageCounts> counts;  // by stage of the chain
  std::map<std::string, ArtifactTotals::Split, std::less<>> splits;
};

/// Where partitions go. `Open` and `Keep` are called by whichever thread holds the in-order sink, one
/// at a time; `Close` by the segment's closing thread, in order, while the next partition is written.
class SegmentOutput {
 public:
  virtual ~SegmentOutput() = default;
  virtual Result<std::unique_ptr<Sink>> Open(PartitionId id) = 0;
  /// Sets aside what stages dropped or altered, in order.
  virtual Status Keep(PartitionId id, const std::vector<Quarantined>& records) = 0;
  /// Commits and logs, or logs the failure. An error ends the segment.
  virtual Status Close(ClosedPartition partition) = 0;
};

struct SegmentSpec {
  std::vector<Link> links;          // repair, transforms, encoder: in the order of the chain
  std::uint32_t stages = 1;         // how many stages count, the Source's is 0
  std::uint32_t source_stage = 0;   // whose time it is that the Source takes
  std::vector<std::string> splits;  // names for Batch::split; one name where no stage splits
  std::size_t tokens = 4;           // batches alive at the same time: the bound on memory
  std::size_t closings = 2;         // partitions that may wait for the closing thread
  RecordWatch* watch = nullptr;     // null: nobody looks
  std::vector<std::string> names;   // of the stages by number, for the watch
};

/// Runs `source` to its end. OK when it got there, whatever became of single partitions: those go to
/// `output`. Else the Source's failure, an error of output.Close, or kCancelled once `stop` is set;
/// what closed before is committed, unless its Sink takes long and looks at `stop` itself; the open partition
/// never existed.
/// For any number of threads and tokens: the same calls of Open and Close with the same bytes.
Status RunSegment(Arena& arena, Source& source, const SegmentSpec& spec, SegmentOutput& output,
                  SegmentProgress& progress, std::stop_token stop);

}  // namespace pipeline
