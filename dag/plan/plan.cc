#include "dag/plan/plan.h"

#include <algorithm>

namespace pipeline {

bool Plan::nothing_to_do() const {
  return std::none_of(segments.begin(), segments.end(), [](const PlannedSegment& segment) {
    return segment.state == PlannedSegment::State::kWanted;
  });
}

std::uint64_t MemoryOfInputs(const Plan& plan) {
  constexpr std::uint64_t kOfFile = 4 << 10, kOfPartition = 5 << 10;
  std::uint64_t bytes = 0;
  for (const PlannedSegment& segment : plan.segments) {
    const std::vector<OutputsOfInput>& inputs = segment.outputs.inputs();
    if (segment.files) bytes += kOfFile * inputs.size();
    // An input that was not read yet has one partition for certain.
    for (const OutputsOfInput& input : inputs)
      bytes += kOfPartition * std::max<std::uint64_t>(input.end ? input.end->partitions : 0, 1);
  }
  return bytes >> 20 << 20;  // each estimate of a program's size covers a part of a MiB
}

std::vector<SegmentId> NeedsOf(const PlannedSegment& segment) {
  std::vector<SegmentId> needs;
  for (const std::optional<SegmentId>& need : {segment.upstream, segment.barrier})
    if (need) needs.push_back(*need);
  for (const PlannedSegment::SideInput& side_input : segment.side_inputs)
    if (side_input.segment) needs.push_back(*side_input.segment);
  return needs;
}

}  // namespace pipeline
