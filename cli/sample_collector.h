// A few records as they were before and after each stage, and what text is made of there: for the report.
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
#include "cli/text_profile.h"
#include "dag/progress.h"

namespace pipeline {

/// A record's text at one point, cut to what can be shown.
struct Sample {
  std::string text;
  std::vector<std::uint32_t> marks;  // where morphemes or tokens end in `text`, in bytes
  bool front = false;                // something was cut off there
  bool back = false;
  bool operator==(const Sample&) const = default;
};

struct SamplePair {
  std::uint64_t hash = 0;  // of the record's origin: the smallest are kept
  Sample before;
  std::optional<Sample> after;  // absent: the stage dropped the record
};

/// What was seen of one stage.
struct StageText {
  TextProfile profile;        // of what left it
  std::uint64_t changed = 0;  // for how many records those stand that differ before and after it
  std::uint64_t dropped = 0;
  std::vector<SamplePair> pairs;  // by hash
};

/// Safe from any thread. Memory is bounded by the number of stages.
class SampleCollector final : public RecordWatch {
 public:
  std::unique_ptr<Passage> Watch(const Batch& batch, const std::vector<std::string>& stages) override;

  /// By stage. Of a stage whose records several segments saw, what the one saw that ran it.
  std::map<std::string, StageText> Take();

 private:
  class Looking;
  struct Seen {
    StageText text;
    bool ran = false;  // by the segment that saw it; else that one only read its records
  };

  Mutex mutex_;
  std::map<std::pair<std::string, std::string>, Seen> seen_
      GUARDED_BY(mutex_);  // by stage and last stage of the segment
};

/// Of each so many records at this place of the input one is looked at.
std::uint64_t SampleStride(PartitionId partition, std::uint64_t index);

}  // namespace pipeline
