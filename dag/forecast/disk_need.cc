#include <algorithm>
#include <utility>

#include "dag/forecast/forecast.h"
#include "dag/pipeline_file/pipeline_file.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

/// Returns the directory at `location`.
std::string PathOf(const std::string& location) {
  const Result<Uri> uri = Uri::Parse(location);
  return uri.ok() ? uri->path : location;
}

}  // namespace

std::vector<DiskNeed> DiskNeedsOf(const Plan& plan, const Forecast& forecast, const DiskPlaces& places) {
  std::vector<DiskNeed> needs = {{places.work, 0, 0}};
  IdVector<SegmentId, SegmentForecast> here = forecast.segments;  // what goes to the disk of `work`
  std::uint64_t sum = 0, fetched = 0;
  for (const SegmentId at : plan.segments.ids()) {
    const PlannedSegment& segment = plan.segments[at];
    SegmentForecast& made = here[at];
    fetched += made.fetched_bytes;
    if (!places.has_intermediates) made.intermediate_bytes = 0;
    if (IsRemote(segment.location)) {
      made.published_bytes = 0;
    } else if (segment.location.starts_with(kWorkLocation)) {
      if (!places.has_intermediates) made.published_bytes = 0;
    } else if (!segment.location.empty() && made.published_bytes > 0) {
      const std::string path = PathOf(segment.location);
      made.published_bytes -= std::min(made.published_bytes, places.held(path));
      if (!places.same(path, places.work)) {
        const auto found = std::find_if(needs.begin() + 1, needs.end(),
                                        [&](const DiskNeed& need) { return places.same(path, need.path); });
        DiskNeed& need = found != needs.end() ? *found : needs.emplace_back(DiskNeed{path, 0, 0});
        need.bytes += std::exchange(made.published_bytes, 0);
      }
    }
    sum += made.intermediate_bytes + made.published_bytes;
  }
  needs.front().bytes =
      fetched + forecast.spool_bytes + (forecast.removes_outputs ? PeakOfOutputs(plan, here) : sum);
  for (DiskNeed& need : needs) need.least = places.is_known ? need.bytes / 2 : 0;
  // Sizes of downloads are those that servers tell.
  if (places.is_known) needs.front().least = fetched + (needs.front().bytes - fetched) / 2;
  std::erase_if(needs, [](const DiskNeed& need) { return need.bytes == 0; });
  return needs;
}

}  // namespace pipeline
