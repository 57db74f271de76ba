// Collects sample records before and after each stage, and text statistics, for the report.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "cli/report/text_profile.h"
#include "dag/progress.h"

namespace pipeline {

/// A record's text at one point, truncated for display.
struct Sample {
  std::string text;                  // UTF-8, at most 480 bytes, cut between characters
  std::vector<std::uint32_t> marks;  // ends of morphemes or tokens: byte offsets in `text`, ascending
  bool front = false;                // text before `text` was cut off
  bool back = false;                 // text after `text` was cut off
  bool operator==(const Sample&) const = default;
};

struct SamplePair {
  std::uint64_t hash = 0;  // of the record's position in the corpus; the smallest are kept
  Sample before;
  std::optional<Sample> after;  // if absent: the stage dropped the record
};

/// The statistics of one stage.
struct StageText {
  TextProfile profile;            // of its output
  std::uint64_t changed = 0;      // changed records: an estimate from the sampled records
  std::uint64_t dropped = 0;      // dropped records: an estimate, too
  std::vector<SamplePair> pairs;  // at most 8, by ascending hash
};

/// Safe from any thread. The number of stages bounds the memory, not the number of records.
class SampleCollector final : public RecordObserver {
 public:
  /// The collector and `stages` must outlive the probe.
  std::unique_ptr<BatchProbe> Watch(const Batch& batch, const std::vector<std::string>& stages) override;

  /// Returns the statistics by the name of the stage, and clears them. If several segments saw a stage's
  /// records: the statistics of the segment that ran the stage.
  std::map<std::string, StageText> Take();

 private:
  class Looking;
  struct Seen {
    StageText text;
    bool ran = false;  // the segment ran the stage; false: it only read the stage's records
  };

  Mutex mutex_;
  std::map<std::pair<std::string, std::string>, Seen> seen_
      GUARDED_BY(mutex_);  // by stage and last stage of the segment
};

/// Returns the sampling interval at this position of the input, in records: one record of each interval is
/// sampled. `index`: of the record in its partition.
std::uint64_t SampleStride(PartitionId partition, std::uint64_t index);

}  // namespace pipeline
