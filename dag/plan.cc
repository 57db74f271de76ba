#include "dag/plan.h"

#include <algorithm>

namespace pipeline {

bool Plan::nothing_to_do() const {
  return std::none_of(segments.begin(), segments.end(), [](const PlannedSegment& segment) {
    return segment.state == PlannedSegment::State::kWanted;
  });
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
