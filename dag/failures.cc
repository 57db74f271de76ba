#include "dag/failures.h"

#include <set>
#include <utility>

#include "dag/unit_id.h"

namespace pipeline {

void Failures::Log(UnitState state, const std::string& unit, std::uint32_t segment, std::string reason) {
  UnitLine line;
  line.state = state;
  line.unit = unit;
  line.segment = segment;
  line.reason = std::move(reason);
  Log(line);
}

void Failures::Log(const UnitLine& line) {
  if (Status logged = log_.Append(line); !logged.ok()) {
    Record(line.unit, std::move(logged));
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

void Failures::VoidUnsettled(Track& track, std::uint32_t number, std::string_view why) {
  const std::set<PartitionId> unsettled = track.TakeUnsettled(number);
  for (const PartitionId id : unsettled) Void(track, id, why);
}

void Failures::Void(Track& track, PartitionId id, std::string_view why) {
  track.voided.insert(id);
  if (track.inputs[id.input].pieces.standing.erase(id.partition) > 0)
    Log(UnitState::kVoid, ToString(UnitId{track.name(), id}), 0, std::string(why));
  for (Track* reader : track.readers) Void(*reader, id, why);
}

}  // namespace pipeline
