// Decides which blocks of rows a host fetches next and which it removes: rows.md, section 4. No I/O and no
// clock.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "plugins/train/reader/sample_order.h"
#include "plugins/train/rows/row_blocks.h"

namespace pipeline {

/// The rows that a worker reads from here on.
struct RowDemand {
  bool shuffled = true;      // in the order of training; false: in that of the shards
  std::uint64_t sample = 0;  // or row
  bool reading = true;       // now; false: it may be waiting for another worker
};

/// The disk of one host. One thread at a time.
class FetchPlanner {
 public:
  /// `room`: bytes for blocks, at least blocks.LeastBytes(). `blocks` outlives it.
  FetchPlanner(const RowBlocks& blocks, std::uint64_t seed, std::uint64_t room);

  /// No worker reads any more; what is on the disk stays.
  void Forget() { demands_.clear(); }
  void Want(std::int64_t worker, const RowDemand& demand);

  /// A block was found on the disk. False: there is no room for it.
  bool Found(std::uint64_t block);
  /// The blocks that must be removed now; they count no longer.
  std::vector<std::uint64_t> TakeUnwanted();
  /// The block to be fetched next; from now on it counts, and it has not arrived. Absent: there is none, or
  /// no room until another one has arrived.
  std::optional<std::uint64_t> StartNext();
  /// The block has arrived. False: it is not wanted any more, and must be removed.
  bool Arrived(std::uint64_t block);
  void Failed(std::uint64_t block) { Drop(block); }

  /// Bytes of the blocks that are there or arriving.
  std::uint64_t held() const { return held_; }

 private:
  enum class State : std::uint8_t { kAbsent, kArriving, kHere };

  /// Fills `wanted_`: blocks in the order in which they are needed, as many as fit.
  void Plan();
  void Drop(std::uint64_t block);
  /// Calls `take` for each block of the window of a sample; returns the first sample behind it. Ends early
  /// once `take` returns false.
  template <class Take>
  std::uint64_t ForWindow(std::uint64_t sample, bool& fits, const Take& take);

  const RowBlocks& blocks_;
  const std::uint64_t room_;
  pipe_sample_order order_{};
  std::map<std::int64_t, RowDemand> demands_;  // by worker
  std::vector<State> states_;                  // by block
  std::vector<std::uint64_t> wanted_;
  std::vector<bool> is_wanted_;  // by block
  bool has_changed_ = false;     // is_wanted_, since TakeUnwanted
  std::size_t next_ = 0;         // in wanted_: those before are here or arriving
  std::uint64_t held_ = 0;
};

}  // namespace pipeline
