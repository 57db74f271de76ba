// Collects, for the report, sample records before and after each stage, and text statistics.
#pragma once

#include <cstddef>
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
  std::string text;
  std::vector<std::uint32_t> marks;  // ends of morphemes or tokens in `text`, in bytes
  bool front = false;                // text was cut off at this end
  bool back = false;
  bool operator==(const Sample&) const = default;
};

struct SamplePair {
  std::uint64_t hash = 0;  // of the record's position in the corpus; the smallest are kept
  Sample before;
  std::optional<Sample> after;  // absent: the stage dropped the record
};

/// The statistics of one stage.
struct StageText {
  TextProfile profile;        // of its output
  std::uint64_t changed = 0;  // number of records, extrapolated, that the stage changed
  std::uint64_t dropped = 0;
  std::vector<SamplePair> pairs;  // by hash
};

/// Safe from any thread. Memory is bounded by the number of stages.
class SampleCollector final : public RecordObserver {
 public:
  std::unique_ptr<BatchProbe> Watch(const Batch& batch, const std::vector<std::string>& stages) override;

  /// By stage. If several segments saw a stage's records, the result of the segment that ran the stage.
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

/// The sampling interval at this position of the input: one record in so many is sampled.
std::uint64_t SampleStride(PartitionId partition, std::uint64_t index);

}  // namespace pipeline
