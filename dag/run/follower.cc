#include "dag/run/follower.h"

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include "base/str.h"
#include "base/wait.h"
#include "dag/books/manifest.h"
#include "dag/books/unit_id.h"
#include "dag/location/publishing.h"
#include "dag/run/job_unit.h"
#include "dag/run/prepare_segments.h"
#include "dag/run/segment_state.h"

namespace pipeline {

namespace {

constexpr std::chrono::seconds kInputsEvery{15};

/// The published inputs of a Job: a location each.
std::vector<std::string> InputLocations(const Plan& plan, const PlannedSegment& job) {
  std::vector<std::string> locations;
  for (const PlannedSegment::SideInput& input : job.side_inputs)
    if (input.segment && plan.segments[*input.segment].publishes)
      locations.push_back(plan.segments[*input.segment].location);
  return locations;
}

/// Watches the manifests of the inputs, and stops the Job when one of them changes. The thread ends with this
/// object.
class InputWatch {
 public:
  static Result<std::unique_ptr<InputWatch>> Begin(const std::vector<std::string>& locations,
                                                   const Environment& environment, std::stop_source& job) {
    std::unique_ptr<InputWatch> watch(new InputWatch(job));
    for (const std::string& location : locations) {
      Input input;
      ASSIGN_OR_RETURN(input.store, OpenLocation(environment, location));
      ASSIGN_OR_RETURN(const std::optional<ObjectInfo> manifest, input.store->Stat(kManifestName));
      input.location = location;
      if (manifest) input.version = manifest->version;
      watch->inputs_.push_back(std::move(input));
    }
    watch->thread_ = std::jthread([&self = *watch](std::stop_token stop) { self.Loop(std::move(stop)); });
    return watch;
  }
  ~InputWatch() { End(); }

  /// Ends the thread. Returns the location that changed; empty: none.
  const std::string& End() {
    thread_ = {};
    return changed_;
  }

 private:
  struct Input {
    std::string location;
    std::unique_ptr<Store> store;
    std::string version;
  };

  explicit InputWatch(std::stop_source& job) : job_(job) {}

  void Loop(std::stop_token stop) {
    while (WaitFor(kInputsEvery, stop)) {
      for (const Input& input : inputs_) {
        const Result<std::optional<ObjectInfo>> manifest = input.store->Stat(kManifestName);
        if (!manifest.ok()) continue;  // it is asked again
        if ((*manifest ? (*manifest)->version : std::string()) == input.version) continue;
        changed_ = input.location;
        job_.request_stop();
        return;
      }
    }
  }

  std::stop_source& job_;
  std::vector<Input> inputs_;
  std::string changed_;  // written by the thread; read after its end
  std::jthread thread_;  // last
};

}  // namespace

const PlannedSegment* FindJob(const Plan& plan, const std::string& stage) {
  for (const PlannedSegment& segment : plan.segments)
    if (segment.job && segment.keys.stage == stage) return &segment;
  return nullptr;
}

Status FollowJob(const Graph& graph, const Plan& plan, const std::string& stage,
                 const Environment& environment, const RunOptions& options, std::stop_token stop) {
  const PlannedSegment* const planned = FindJob(plan, stage);
  if (planned == nullptr) return Status(Code::kInternal, StrCat("stage '", stage, "' is no job"));
  RunOptions alone = options;  // no other stage is made
  alone.stage = stage;
  ASSIGN_OR_RETURN(const PreparedSegments prepared, PrepareSegments(graph, plan, environment, alone));
  const auto found = std::find_if(prepared.states.begin(), prepared.states.end(),
                                  [planned](const auto& state) { return state->planned == planned; });
  SegmentState& state = **found;
  if (state.stages != SegmentState::Stages::kMade || state.upstream != nullptr)
    return Status(Code::kInternal, StrCat("stage '", stage, "' cannot be made on a follower"));
  RETURN_IF_ERROR(JobCall::CheckMemory(state.scope, {}));

  std::stop_source ended;
  const std::stop_callback relay(stop, [&ended] { ended.request_stop(); });
  JobCall call(state.scope, ToString(UnitId{stage, JobId{}}), 0, ended.get_token());
  RETURN_IF_ERROR(call.Begin());
  JobRequest request = call.Request();
  request.out = state.out.get();
  ASSIGN_OR_RETURN(const std::unique_ptr<InputWatch> inputs,
                   InputWatch::Begin(InputLocations(plan, *planned), environment, ended));
  Status outcome = call.Run(request).status();
  const std::string changed = inputs->End();
  if (outcome.ok() || changed.empty() || stop.stop_requested()) return outcome;
  return Status(Code::kFailedPrecondition, StrCat(changed, ": was published anew"))
      .With(std::make_shared<InputsChanged>());
}

Result<bool> LeaderHasBegun(const Plan& plan, const std::string& stage, const Environment& environment) {
  const PlannedSegment* const job = FindJob(plan, stage);
  if (job == nullptr) return false;
  ASSIGN_OR_RETURN(const std::unique_ptr<Store> out, OpenLocation(environment, job->location));
  ASSIGN_OR_RETURN(const std::optional<PublicationMarker> marker, ReadMarker(*out));
  return marker.has_value();
}

LeaderWatch::LeaderWatch(const Plan& plan, const std::string& stage, const Environment& environment,
                         const Clock& clock)
    : clock_(clock), last_(clock.Monotonic()) {
  const PlannedSegment* const job = FindJob(plan, stage);
  if (job == nullptr) return;
  std::vector<std::string> locations = InputLocations(plan, *job);
  locations.push_back(job->location);
  for (std::string& location : locations) {
    Result<std::unique_ptr<Store>> store = OpenLocation(environment, location);
    if (!store.ok()) continue;
    std::unique_ptr<Lease> lease = Lease::At(**store, location, {}, false);
    places_.push_back({std::move(location), std::move(*store), std::move(lease), {}});
  }
}

bool LeaderWatch::Moved(Place& place, const std::stop_token& stop) {
  const Result<std::optional<SeenLease>> seen = place.lease->Look(stop);
  if (!seen.ok()) return false;
  const std::string version = *seen && !(*seen)->holder.empty() ? (*seen)->version : std::string();
  return std::exchange(place.version, version) != version && !version.empty();
}

std::chrono::nanoseconds LeaderWatch::Silence(std::stop_token stop) {
  bool moved = false;
  for (Place& place : places_) moved = Moved(place, stop) || moved;
  if (moved) last_ = clock_.Monotonic();
  return clock_.Monotonic() - last_;
}

std::string LeaderWatch::Locations() const {
  std::string all;
  for (const Place& place : places_) all += StrCat(all.empty() ? "" : ", ", place.location);
  return all;
}

}  // namespace pipeline
