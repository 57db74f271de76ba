#include "dag/failures.h"

#include <utility>

namespace pipeline {

void Failures::Log(UnitState state, const std::string& unit, std::uint32_t segment, std::string reason) {
  UnitLine line;
  line.state = state;
  line.unit = unit;
  line.segment = segment;
  line.reason = std::move(reason);
  if (Status logged = log_.Append(line); !logged.ok()) {
    Record(unit, std::move(logged));
    stop_.request_stop();
  }
}

bool Failures::Record(const std::string& unit, Status why) {
  all_.push_back({unit, std::move(why)});
  if (static_cast<int>(all_.size()) < allowed_) return true;
  stop_.request_stop();
  return false;
}

void Failures::Fail(Track& track, const std::string& unit, Status why) {
  if (why.code() == Code::kCancelled) return;
  // One input or partition that fails keeps no other from being made; that there is no whole shows.
  if (track.phase != Track::Phase::kPieces || track.planned->job) track.phase = Track::Phase::kFailed;
  Log(UnitState::kFailed, unit, track.scope.log_segment, std::string(why.message()));
  Record(unit, std::move(why));
}

void Failures::VoidAll(Track& track, std::string_view why) {
  track.phase = Track::Phase::kFailed;
  for (const std::string& unit : track.logged) Log(UnitState::kVoid, unit, 0, std::string(why));
  track.logged.clear();
  for (Track* reader : track.readers) VoidAll(*reader, why);
}

}  // namespace pipeline
