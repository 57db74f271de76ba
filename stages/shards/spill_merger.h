// Second pass of a global shuffle: merges the rows of one split from many spills into one order.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/spill_file.h"
#include "storage/store.h"

namespace pipeline {

/// The part of one split in one spill.
struct SpillPart {
  std::string object;
  bool compressed = false;
  std::vector<SpillFrame> frames;
};

/// All spills of one split. `parts` are in the order of their partitions, which is the order of row
/// origins: the origin of a row is its part and its position there.
struct SpilledSplit {
  std::vector<SpillPart> parts;
  std::vector<std::uint64_t> positions;  // of the first row of each bin, and one more for the end
  std::vector<std::uint64_t> bytes;      // approximate memory for each loaded bin
  std::uint64_t records() const { return positions.back(); }
  /// Returns the bin of the row at `position`.
  std::uint32_t BinOf(std::uint64_t position) const;
};

/// The cost of merging, summed over all threads.
struct MergeCounters {
  std::atomic<std::uint64_t> bytes_read{0};  // from spills
  std::atomic<std::uint64_t> peak_bytes{0};  // largest memory of one SpillMerger
};

/// Merges spills and gives rows by position. Forward only; one thread at a time. Holds and merges one
/// window at a time, a range of hashes of all parts, of about `memory_bytes` at most (a single larger row
/// is held nevertheless).
class SpillMerger {
 public:
  /// All arguments outlive the merger.
  SpillMerger(Store& artifact, const SpilledSplit& split, std::uint64_t memory_bytes, MergeCounters& counters,
              std::stop_token stop);
  ~SpillMerger();
  SpillMerger(const SpillMerger&) = delete;
  SpillMerger& operator=(const SpillMerger&) = delete;

  /// Calls `row` with the payloads at [begin, end), where `begin` is not before the last `end`. Rows
  /// between the last `end` and `begin` are skipped, and whole bins of them are not read. `until` is the
  /// position that the next calls will reach without a gap, so that data loaded for one call can serve them
  /// all.
  Status Copy(std::uint64_t begin, std::uint64_t end, std::uint64_t until,
              const std::function<Status(std::string_view payload)>& row);

 private:
  struct Chunk;  // rows of one frame
  struct Run;    // rows of one part, in order
  struct Head {  // the next row of a run
    std::uint64_t hash;
    std::uint32_t run;
    bool operator>(const Head& other) const {
      return hash != other.hash ? hash > other.hash : run > other.run;
    }
  };

  Status LoadWindow(std::uint64_t until);
  std::uint64_t ChooseLast(std::uint64_t until);
  Status LoadPart(const SpillPart& part, std::uint64_t first, std::uint64_t& last);
  void Keep(Chunk chunk);
  Status KeepSome(const SpillPart& part, const SpillFrame& frame, const std::string& bytes,
                  std::uint64_t first, std::uint64_t last);
  void CutWindow(std::uint64_t first, std::uint64_t& last);
  void CutRun(Run& run, std::uint64_t last);
  void DropWindow();
  Status Advance(std::uint32_t run);
  Status Damaged(const SpillPart& part, const SpillFrame& frame, Status why) const;

  Store& artifact_;
  const SpilledSplit& split_;
  const std::uint64_t limit_;  // bytes of a window
  MergeCounters& counters_;
  const std::stop_token stop_;
  ZstdFrameCoder coder_;

  std::vector<Run> runs_;        // of the window, by part
  std::vector<Head> heads_;      // a heap, the next row in front
  std::uint64_t held_ = 0;       // bytes of the window
  std::uint64_t rows_left_ = 0;  // of the window
  std::uint64_t position_ = 0;   // of the next row
  std::uint64_t next_hash_ = 0;  // first hash of the next window
  std::uint64_t slice_ = 0;      // width of windows inside one bin
  bool exhausted_ = false;       // the last window reached the greatest hash
};

}  // namespace pipeline
