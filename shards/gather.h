// Pass 2 of a global shuffle: the rows of one split of many spills, in one order.
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

/// A spill's part of one split.
struct SpillPart {
  std::string object;
  bool compressed = false;
  std::vector<SpillFrame> frames;
};

/// All spills of one split. `parts` are in the order of their partitions, which is the order of
/// origins: a row's origin is its part and its place there.
struct SpilledSplit {
  std::vector<SpillPart> parts;
  std::vector<std::uint64_t> positions;  // of the first row of each bin; one more: of the end
  std::vector<std::uint64_t> bytes;      // that loading a bin takes, about
  std::uint64_t records() const { return positions.back(); }
  /// The bin that the row at `position` lies in.
  std::uint32_t BinOf(std::uint64_t position) const;
};

/// What gathering costs; summed over all threads.
struct GatherCounters {
  std::atomic<std::uint64_t> bytes_read{0};  // from spills
  std::atomic<std::uint64_t> peak_bytes{0};  // held by any one Gather
};

/// Gives rows by position. Forward only; one thread at a time. Holds a window, a range of hashes of
/// all parts, of at most about `memory_bytes` (one larger row is held nevertheless), and merges it.
class Gather {
 public:
  /// All of these outlive it.
  Gather(Store& artifact, const SpilledSplit& split, std::uint64_t memory_bytes, GatherCounters& counters,
         std::stop_token stop);
  ~Gather();
  Gather(const Gather&) = delete;
  Gather& operator=(const Gather&) = delete;

  /// Calls `row` with the payloads at [begin, end), where `begin` is not before the last `end`.
  /// What lies between is passed over, without reading where whole bins do. `until` is how far the
  /// next calls will go on without a gap: what is loaded for one may serve them all.
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
  GatherCounters& counters_;
  const std::stop_token stop_;
  ZstdFrameCoder coder_;

  std::vector<Run> runs_;        // of the window, by part
  std::vector<Head> heads_;      // a heap, the next row in front
  std::uint64_t held_ = 0;       // bytes of the window
  std::uint64_t rows_left_ = 0;  // of the window
  std::uint64_t position_ = 0;   // of the next row
  std::uint64_t next_hash_ = 0;  // where the next window begins
  std::uint64_t slice_ = 0;      // width of windows inside of one bin
  bool exhausted_ = false;       // the last window reached the greatest hash
};

}  // namespace pipeline
