#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "dag/forecast/forecast.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

/// Each segment has two events: its first pass is complete and checked, and all of it is done.
using Events = std::set<std::size_t>;

std::size_t Checked(SegmentId segment) { return 2 * segment.index(); }
std::size_t Done(SegmentId segment) { return 2 * segment.index() + 1; }

/// Data on the disk. They appear after all events of `after`, and go after all of `until`.
struct Stay {
  std::uint64_t bytes = 0;
  Events after;
  std::optional<Events> until;  // absent: they stay
};

/// Goes through all moments of a run: the sets of events that may have happened so far.
class Moments {
 public:
  Moments(std::map<std::size_t, Events> events, std::vector<Stay> stays)
      : events_(std::move(events)), stays_(std::move(stays)) {}

  /// Returns the most bytes that are on the disk at one moment.
  std::uint64_t Most() {
    std::vector<Events> open(1);
    std::set<Events> seen(open.begin(), open.end());
    std::uint64_t most = 0;
    while (!open.empty()) {
      const Events moment = std::move(open.back());
      open.pop_back();
      most = std::max(most, BytesAt(moment));
      for (const auto& [event, before] : events_) {
        if (moment.contains(event) || !Includes(moment, before)) continue;
        Events next = moment;
        next.insert(event);
        if (!seen.insert(next).second) continue;
        if (seen.size() > kMostMoments) return All();
        open.push_back(std::move(next));
      }
    }
    return most;
  }

 private:
  static constexpr std::size_t kMostMoments = 20'000;  // of nine segments side by side; more take long

  static bool Includes(const Events& moment, const Events& events) {
    return std::includes(moment.begin(), moment.end(), events.begin(), events.end());
  }
  std::uint64_t BytesAt(const Events& moment) const {
    std::uint64_t bytes = 0;
    for (const Stay& stay : stays_)
      if (Includes(moment, stay.after) && !(stay.until && Includes(moment, *stay.until))) bytes += stay.bytes;
    return bytes;
  }
  std::uint64_t All() const {
    std::uint64_t bytes = 0;
    for (const Stay& stay : stays_) bytes += stay.bytes;
    return bytes;
  }

  const std::map<std::size_t, Events> events_;  // with those that come before each
  const std::vector<Stay> stays_;
};

bool Runs(const PlannedSegment& segment) { return segment.state == PlannedSegment::State::kWanted; }

}  // namespace

std::uint64_t PeakOfOutputs(const Plan& plan, const IdVector<SegmentId, SegmentForecast>& expected) {
  IdVector<SegmentId, Events> before_start(plan.segments.size()), before_check(plan.segments.size());
  IdVector<SegmentId, std::optional<Events>> until(plan.segments.size(), Events());
  for (const SegmentId at : plan.segments.ids()) {
    const PlannedSegment& segment = plan.segments[at];
    for (const SegmentId need : NeedsOf(segment)) {
      const PlannedSegment& needed = plan.segments[need];
      Events before = before_check[need];
      if (Runs(needed)) before.insert({Checked(need), Done(need)});
      const bool streams = segment.upstream == need && !segment.job;  // it begins with the first partition
      const Events& known = streams ? before_start[need] : before;
      before_start[at].insert(known.begin(), known.end());
      before_check[at].merge(before);
      if (needed.publishes || segment.state == PlannedSegment::State::kUpToDate) continue;
      const bool to_its_end =
          needed.varies || !segment.publishes || segment.job || !segment.copy_from.empty();
      if (!Runs(segment))
        until[need].reset();
      else if (until[need])
        until[need]->insert(to_its_end ? Done(at) : Checked(at));
    }
    before_check[at].insert(before_start[at].begin(), before_start[at].end());
    if (segment.publishes) until[at] = Events{Done(at)};
  }
  std::map<std::size_t, Events> events;
  std::vector<Stay> stays;
  for (const SegmentId at : plan.segments.ids()) {
    const PlannedSegment& segment = plan.segments[at];
    if (!Runs(segment)) continue;
    events.emplace(Checked(at), before_check[at]);
    events.emplace(Done(at), Events{Checked(at)});
    const bool goes = segment.removable && until[at] && !until[at]->empty();
    stays.push_back({expected[at].intermediate_bytes, before_start[at], goes ? until[at] : std::nullopt});
    if (IsRemote(segment.location)) continue;
    Events after = before_check[at];
    after.insert(Checked(at));
    stays.push_back({expected[at].published_bytes, std::move(after), {}});
  }
  return Moments(std::move(events), std::move(stays)).Most();
}

}  // namespace pipeline
