#include "dag/run/run_state.h"

#include <set>
#include <utility>

#include "dag/books/unit_id.h"

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

void Failures::Fail(SegmentState& state, const std::string& unit, Status why) {
  if (why.code() == Code::kCancelled) return;
  // One failed input or partition stops no other one; the segment stays incomplete.
  if (state.phase != SegmentState::Phase::kPartitions || state.planned->job)
    state.phase = SegmentState::Phase::kFailed;
  Log(UnitState::kFailed, unit, state.scope.log_segment, std::string(why.message()));
  Record(unit, std::move(why));
}

void Failures::InvalidateUnsettled(SegmentState& state, std::uint32_t number, std::string_view why) {
  const std::set<PartitionId> unsettled = state.TakeUnsettled(number);
  for (const PartitionId id : unsettled) Invalidate(state, id, why);
}

void Failures::Invalidate(SegmentState& state, PartitionId id, std::string_view why) {
  state.voided.emplace(id, why);
  if (state.inputs[id.input].outputs.existing.erase(id.partition) > 0)
    Log(UnitState::kVoid, ToString(UnitId{state.name(), id}), 0, std::string(why));
  for (SegmentState* reader : state.readers) Invalidate(*reader, id, why);
}

}  // namespace pipeline
