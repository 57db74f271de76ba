#include "dag/run/executor.h"

#include <algorithm>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "base/str.h"
#include "dag/books/unit_id.h"
#include "dag/records/partition_output.h"
#include "dag/run/cut_inputs.h"
#include "dag/run/input_bounds.h"
#include "dag/run/publisher.h"
#include "dag/run/run_state.h"
#include "dag/run/segment_state.h"
#include "dag/run/unit_runner.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kSmallBytes = 64 << 10;  // an input of this size is read in a millisecond
constexpr std::size_t kGroupsOfThread = 8;       // that small inputs make at least, or there are no groups

}  // namespace

/// The threads of the running units. A mutex of the owner guards it: every method is called with the mutex
/// held, and `lock` holds it.
class UnitThreads {
 public:
  /// The load of a unit on the machine. A Job waits or has threads of its own, and keeps no other unit out.
  enum class Load : std::uint8_t { kProcessing, kJob };

  /// Runs `work` on a new thread and then, with `mutex` held, the function that `work` returned.
  void Start(Mutex& mutex, Load load, std::function<std::function<void()>()> work) {
    if (load == Load::kProcessing) ++processing_;
    Running& running = threads_.emplace_back();
    running.thread = std::thread([this, &mutex, &running, load, work = std::move(work)] {
      const std::function<void()> report = work();
      const Lock lock(mutex);
      if (load == Load::kProcessing) --processing_;
      running.finished = true;
      ++finished_;
      report();
    });
  }
  /// Joins every thread whose work is done; releases the lock meanwhile.
  void JoinFinished(Lock& lock) NO_THREAD_SAFETY_ANALYSIS {  // it is called with `lock` held
    while (finished_ > 0) {
      const auto done =
          std::find_if(threads_.begin(), threads_.end(), [](const Running& unit) { return unit.finished; });
      std::thread thread = std::move(done->thread);
      threads_.erase(done);
      --finished_;
      lock.unlock();
      thread.join();
      lock.lock();
    }
  }

  bool empty() const { return threads_.empty(); }
  bool any_finished() const { return finished_ > 0; }
  /// Number of running units that are no Jobs.
  int processing() const { return processing_; }

 private:
  struct Running {
    std::thread thread;
    bool finished = false;
  };

  std::list<Running> threads_;
  std::size_t finished_ = 0;
  int processing_ = 0;
};

/// Decides under one lock; units work outside it and report back.
class Executor::Coordinator {
 public:
  Coordinator(const Graph& graph, const Plan& plan, const Snapshot& snapshot, const Environment& environment,
              const RunOptions& options)
      : run_(graph, plan, snapshot, environment, options) {}

  Status Prepare() {
    ASSIGN_OR_RETURN(run_.prepared, PrepareSegments(run_.graph, run_.plan, run_.environment, run_.options));
    for (const std::unique_ptr<SegmentState>& state : run_.prepared.states) {
      FindSmallInputs(*state);
      cut_inputs_.Find(*state);
    }
    // One slot more for each unit that may wait for a decoder or a command, so that no core is idle.
    run_.arena =
        std::make_unique<Arena>(run_.options.threads + run_.prepared.streams + run_.prepared.readers);
    return {};
  }

  Status MarkLocations(std::stop_token stop) {
    ASSIGN_OR_RETURN(leases_, pipeline::MarkLocations(run_.prepared, run_.environment, std::move(stop)));
    return {};
  }

  RunOutcome RunUnit(const std::string& unit, std::stop_token stop) {
    asked_ = ParseUnitId(unit).value_or(UnitId{});
    return Run(std::move(stop));
  }

  RunOutcome Run(std::stop_token stop) {
    const HomeWatch watch(run_.environment, [this](Status why) { LoseLease(std::move(why)); });
    RunOutcome outcome = RunUnits(stop);
    // Facts that are on this machine alone are of no use to the next one.
    if (const Status flushed = run_.environment.log->Flush(stop); !flushed.ok() && outcome.status.ok()) {
      outcome.status = flushed;
      outcome.lost_lease = flushed.Detail<LostLease>() != nullptr;
    }
    return outcome;
  }

 private:
  /// Hears of the loss of the home during its lifetime.
  class HomeWatch {
   public:
    HomeWatch(const Environment& environment, std::function<void(Status)> lost) : environment_(environment) {
      if (environment_.watch_home) environment_.watch_home(std::move(lost));
    }
    ~HomeWatch() {
      if (environment_.watch_home) environment_.watch_home(nullptr);
    }
    HomeWatch(const HomeWatch&) = delete;
    HomeWatch& operator=(const HomeWatch&) = delete;

   private:
    const Environment& environment_;
  };

  RunOutcome RunUnits(const std::stop_token& stop) {
    const std::stop_callback relay(stop, [this] {
      run_.stop.request_stop();
      // The lock is taken and given back, so that the coordinator is either before its check or really
      // waiting.
      { const Lock lock(run_.mutex); }
      run_.changed.NotifyAll();
    });
    RunOutcome outcome;
    outcome.status = DescribeSegments(run_.prepared, *run_.environment.log);
    if (!outcome.status.ok()) return outcome;
    if (leases_) leases_->Start([this](Status why) { LoseLease(std::move(why)); });
    Lock lock(run_.mutex);
    ran_ = false;
    while (true) {
      threads_.JoinFinished(lock);
      if (!run_.stop.stop_requested()) {
        StartReady();
        if (RemovesOutputs(run_.options)) StartRemovals();
      }
      if (threads_.empty()) break;
      run_.changed.Wait(lock,
                        [this]() REQUIRES(run_.mutex) { return threads_.any_finished() || run_.woken; });
      run_.woken = false;
    }
    return Outcome(stop);
  }

  /// A file elsewhere may let its reader wait, and others are not to wait with it.
  void FindSmallInputs(SegmentState& state) const {
    if (!state.planned->files || state.barrier != nullptr) return;
    const Snapshot::Files& source = run_.snapshot.files.at(run_.graph[*state.planned->files].spec->name);
    if (!source.missing.ok()) return;
    for (std::size_t at = 0; at < std::min(state.inputs.size(), source.files.size()); ++at) {
      const SourceFile& file = source.files[at];
      state.inputs[at].small = file.size <= kSmallBytes && !IsRemote(file.input.path);
      if (state.inputs[at].small && !state.inputs[at].outputs.complete()) ++state.small_inputs;
    }
  }

  // --- Scheduling.

  bool HasRoom() const REQUIRES(run_.mutex) {
    return threads_.processing() < std::max(run_.options.threads, 2);
  }

  void StartReady() REQUIRES(run_.mutex) {
    bool started = true;
    while (started && HasRoom() && !run_.stop.stop_requested()) {
      started = false;
      for (const std::unique_ptr<SegmentState>& state : run_.prepared.states)
        if (HasRoom() && state->active() && StartOne(*state)) started = true;
    }
  }

  bool StartOne(SegmentState& state) REQUIRES(run_.mutex) {
    if (state.removing) return false;
    if (run_.Does(ExecutionMode::kOneUnit) && state.name() != asked_.stage) return false;
    switch (state.phase) {
      case SegmentState::Phase::kPartitions:
        if (!state.planned->copy_from.empty()) {
          state.phase = SegmentState::Phase::kFinishing;
          Start(state, ToString(UnitId{state.name(), JobId{}}),
                [this, &state] { return units_.Copy(state); });
          return true;
        }
        if (state.stages != SegmentState::Stages::kMade) return StartMaking(state);
        if (state.planned->job) return StartJob(state);
        if (state.running == 0 && MayPlanShards() && state.outputs_complete()) {
          state.phase = SegmentState::Phase::kPlanning;
          Start(state, ToString(UnitId{state.name(), JobId{}}),
                [this, &state] { return units_.PlanShards(state); });
          return true;
        }
        return state.upstream ? StartPartition(state) : StartStream(state);
      case SegmentState::Phase::kPublishing: return StartGroup(state);
      default: return false;
    }
  }

  /// A unit that is no shard does not depend on whether all partitions exist.
  bool MayPlanShards() const {
    return !run_.Does(ExecutionMode::kOneUnit) || std::holds_alternative<ShardId>(asked_.part);
  }

  /// Makes the stages of a segment once the artifacts that it reads are complete.
  bool StartMaking(SegmentState& state) REQUIRES(run_.mutex) {
    if (state.stages != SegmentState::Stages::kLacking || !state.has_artifacts()) return false;
    state.stages = SegmentState::Stages::kBeingMade;
    Start(state, ToString(UnitId{state.name(), JobId{}}), [this, &state] { return units_.Make(state); });
    return true;
  }

  bool StartJob(SegmentState& state) REQUIRES(run_.mutex) {
    if (state.running > 0 || (state.upstream != nullptr && !state.upstream->done())) return false;
    if (run_.Does(ExecutionMode::kOneUnit) && !std::holds_alternative<JobId>(asked_.part)) return false;
    if (!run_.Does(ExecutionMode::kAll)) state.phase = SegmentState::Phase::kElsewhere;
    const std::string unit = ToString(UnitId{state.name(), JobId{}});
    Launch(
        state, unit, unit, [this, &state] { return units_.Job(state); }, UnitThreads::Load::kJob);
    return true;
  }

  bool StartStream(SegmentState& state) REQUIRES(run_.mutex) {
    if (state.barrier != nullptr && !state.barrier->done()) return false;
    if (StartCut(state)) return true;
    const std::vector<std::uint32_t> numbers = TakeInputs(state);
    if (numbers.empty()) return false;
    const std::string unit = ToString(UnitId{state.name(), StreamId{numbers.front()}});
    const bool reads_file = state.planned->files && state.barrier == nullptr;
    if (run_.Does(ExecutionMode::kOneUnit) && run_.options.cut_inputs && reads_file)
      Launch(state, unit, unit,
             [this, &state, number = numbers.front()] { return cut_inputs_.Scan(state, number); });
    else if (numbers.size() == 1)
      Launch(state, unit, unit,
             [this, &state, number = numbers.front()] { return units_.Stream(state, number); });
    else
      Launch(state, unit, unit, [this, &state, numbers] { return units_.StreamGroup(state, numbers); });
    if (run_.Does(ExecutionMode::kPlanning)) offered_.back().scanned = state.inputs[numbers.front()].cut;
    return true;
  }

  /// Starts work on an input that is cut.
  bool StartCut(SegmentState& state) REQUIRES(run_.mutex) {
    if (const std::optional<std::uint32_t> number = state.TakeUnlooked()) {
      Start(state, ToString(UnitId{state.name(), StreamId{*number}}),
            [this, &state, number = *number] { return cut_inputs_.Look(state, number); });
      return true;
    }
    const std::optional<PartitionId> id = TakeCut(state);
    if (!id) return false;
    const std::string unit = ToString(UnitId{state.name(), *id});
    Launch(state, unit, unit, [this, &state, id = *id] { return cut_inputs_.Partition(state, id); });
    return true;
  }

  /// Takes the next missing partition of a cut input, or the one that is asked for. Absent: there is none
  /// now.
  std::optional<PartitionId> TakeCut(SegmentState& state) REQUIRES(run_.mutex) {
    if (!run_.Does(ExecutionMode::kOneUnit)) return state.TakeNextCut(run_.Does(ExecutionMode::kPlanning));
    const PartitionId* const asked = std::get_if<PartitionId>(&asked_.part);
    return asked != nullptr && state.TakeCut(*asked) ? std::optional(*asked) : std::nullopt;
  }

  /// Takes the next input that has to be read, or several small ones for one thread, or the one that is asked
  /// for. Groups become smaller towards the end, so that all threads have work for the same time.
  std::vector<std::uint32_t> TakeInputs(SegmentState& state) REQUIRES(run_.mutex) {
    if (run_.Does(ExecutionMode::kOneUnit)) {
      const StreamId* const asked = std::get_if<StreamId>(&asked_.part);
      if (asked == nullptr || !state.TakeInput(asked->input)) return {};
      return {asked->input};
    }
    std::size_t most = 1;
    if (run_.Does(ExecutionMode::kAll)) {
      const auto threads = static_cast<std::size_t>(std::max(run_.options.threads, 2));
      most = std::min(MostInputs(run_.options), state.small_inputs / (kGroupsOfThread * threads));
    }
    std::vector<std::uint32_t> numbers;
    while (numbers.empty() || (numbers.size() < most && state.inputs[numbers.front()].small)) {
      const std::optional<std::uint32_t> next = state.TakeWaiting(!numbers.empty());
      if (!next) break;
      numbers.push_back(*next);
      if (state.inputs[*next].small && state.small_inputs > 0) --state.small_inputs;
    }
    return numbers;
  }

  bool StartPartition(SegmentState& state) REQUIRES(run_.mutex) {
    const std::optional<PartitionOutput> output = TakeUpstream(state);
    if (!output) return false;
    const bool remade = state.upstream->remade.contains(output->id);
    const std::string unit = ToString(UnitId{state.name(), output->id});
    Launch(state, unit, unit,
           [this, &state, output = *output, remade] { return units_.Partition(state, output, remade); });
    return true;
  }

  /// Takes the next upstream partition output that can be read, or the one that is asked for. Absent: there
  /// is none now.
  std::optional<PartitionOutput> TakeUpstream(SegmentState& state) REQUIRES(run_.mutex) {
    if (!run_.Does(ExecutionMode::kOneUnit)) return state.TakeReady();
    const PartitionId* const asked = std::get_if<PartitionId>(&asked_.part);
    return asked != nullptr ? state.TakeUpstream(*asked) : std::nullopt;
  }

  bool StartGroup(SegmentState& state) REQUIRES(run_.mutex) {
    if (run_.Does(ExecutionMode::kOneUnit)) state.next_group = AskedGroup(state);
    if (state.next_group >= state.publisher->groups().size()) return false;
    const std::size_t group = state.next_group++;
    Launch(state, state.publisher->UnitOf(group), ToString(UnitId{state.name(), JobId{}}),
           [this, &state, publisher = state.publisher, group] {
             return units_.WriteShards(state, *publisher, group);
           });
    return true;
  }

  /// Returns the group that is asked for; if none is, or it was started: the number of groups.
  std::size_t AskedGroup(const SegmentState& state) const REQUIRES(run_.mutex) {
    const std::string unit = ToString(asked_);
    std::size_t group = ran_ ? state.publisher->groups().size() : 0;
    while (group < state.publisher->groups().size() && state.publisher->UnitOf(group) != unit) ++group;
    return group;
  }

  /// Starts long work as `name`, or leaves it as `unit` to another process.
  void Launch(SegmentState& state, std::string unit, std::string name, std::function<Status()> work,
              UnitThreads::Load load = UnitThreads::Load::kProcessing) REQUIRES(run_.mutex) {
    if (run_.Does(ExecutionMode::kPlanning)) {
      offered_.push_back({std::move(unit), state.planned->recipe()});
    } else {
      ran_ = true;
      Start(state, std::move(name), std::move(work), load);
    }
  }

  void Start(SegmentState& state, std::string unit, std::function<Status()> work,
             UnitThreads::Load load = UnitThreads::Load::kProcessing) REQUIRES(run_.mutex) {
    ++state.running;
    threads_.Start(run_.mutex, load,
                   [this, &state, unit = std::move(unit), work = std::move(work)]() -> std::function<void()> {
                     run_.environment.progress->StageBegan(state.name());
                     return [this, &state, unit, outcome = work()]() REQUIRES(run_.mutex) {
                       --state.running;
                       if (outcome.Detail<LostLease>() != nullptr) {
                         if (lost_.ok()) lost_ = outcome;
                         run_.stop.request_stop();
                       } else if (!outcome.ok()) {
                         run_.failures.Fail(state, unit, outcome);
                       }
                       run_.changed.NotifyAll();
                     };
                   });
  }

  void StartRemovals() REQUIRES(run_.mutex) {
    if (!run_.prepared.any_unneeded()) return;
    threads_.Start(run_.mutex, UnitThreads::Load::kJob, [this]() -> std::function<void()> {
      units_.RemoveUnneeded();
      return [this]() REQUIRES(run_.mutex) { run_.changed.NotifyAll(); };
    });
  }

  /// Stops this run, because another run writes at one of its locations.
  void LoseLease(Status why) {
    {
      const Lock lock(run_.mutex);
      if (lost_.ok()) lost_ = std::move(why);
    }
    run_.stop.request_stop();
    run_.changed.NotifyAll();
  }

  /// The offers by segment and number: they came in the order in which threads had looked at the inputs.
  std::vector<OfferedUnit> SortedOffers() REQUIRES(run_.mutex) {
    std::map<std::string_view, std::size_t> places;
    for (const std::unique_ptr<SegmentState>& state : run_.prepared.states)
      places.emplace(state->name(), places.size());
    std::map<std::pair<std::size_t, UnitId>, OfferedUnit> sorted;
    for (OfferedUnit& offer : offered_) {
      UnitId id = ParseUnitId(offer.unit).value();
      const std::size_t place = places.at(id.stage);
      sorted.emplace(std::pair(place, std::move(id)), std::move(offer));
    }
    std::vector<OfferedUnit> offers;
    for (auto& [key, offer] : sorted) offers.push_back(std::move(offer));
    return offers;
  }

  /// No worker gives a unit more than limits.memory.
  void FailTooLarge(RunOutcome& outcome) const {
    std::erase_if(outcome.offered, [&](const OfferedUnit& unit) {
      const std::uint64_t memory = unit.needs.memory.value_or(0), limit = run_.options.memory_bytes;
      if (memory <= limit) return false;
      outcome.failures.push_back(
          {unit.unit, Status(Code::kInvalidArgument,
                             StrCat("needs ", HumanBytes(memory), " of memory, and limits.memory is ",
                                    HumanBytes(limit), "; raise it, or give the stage less to read"))});
      return true;
    });
  }

  RunOutcome Outcome(const std::stop_token& stop) REQUIRES(run_.mutex) {
    RunOutcome outcome;
    outcome.failures = run_.failures.Take();
    outcome.offered = SortedOffers();
    if (run_.Does(ExecutionMode::kPlanning)) {
      FindNeeds(run_, outcome.offered);
      FailTooLarge(outcome);
      outcome.needs = NeedsOfStages(run_);
    }
    outcome.ran = ran_;
    if (!lost_.ok()) {
      outcome.status = lost_;
      outcome.lost_lease = true;
    } else if (stop.stop_requested()) {
      outcome.status = Status(Code::kCancelled, "stopped");
    } else if (!outcome.failures.empty()) {
      outcome.status = Status(Code::kFailedPrecondition, StrCat(outcome.failures.size(), " failed"));
    } else if (run_.Does(ExecutionMode::kAll) ||
               (run_.Does(ExecutionMode::kPlanning) && outcome.offered.empty())) {
      for (const std::unique_ptr<SegmentState>& state : run_.prepared.states)
        if (state->active())
          outcome.status =
              Status(Code::kInternal, StrCat("stage '", state->name(), "' is stuck [this is a bug]"));
    }
    if (outcome.status.ok() && outcome.offered.empty() && !run_.Does(ExecutionMode::kOneUnit))
      for (const std::unique_ptr<SegmentState>& state : run_.prepared.states)
        for (std::string& line : FaultsOf(*state)) outcome.faults.push_back(std::move(line));
    return outcome;
  }

  /// The rows left out of the inputs of a segment, also if an earlier run read them.
  std::vector<std::string> FaultsOf(SegmentState& state) const {
    const PlannedSegment& planned = *state.planned;
    if (!planned.files || state.scope.planned == nullptr ||
        planned.state == PlannedSegment::State::kNotSelected)
      return {};
    if (state.scope.assembly.source == nullptr && !MakeSource(run_.graph, planned, state.scope.assembly).ok())
      return {};
    return TellFaults(state.scope, run_.snapshot.files.at(run_.graph[*planned.files].spec->name).files);
  }

  RunState run_;
  UnitRunner units_{run_};
  CutInputs cut_inputs_{run_, units_};
  UnitId asked_;  // with ExecutionMode::kOneUnit: the unit that runs now

  UnitThreads threads_ GUARDED_BY(run_.mutex);
  std::vector<OfferedUnit> offered_ GUARDED_BY(run_.mutex);
  bool ran_ GUARDED_BY(run_.mutex) = false;  // long work was started
  Status lost_ GUARDED_BY(run_.mutex);       // the reason why a lease was lost; OK: none was

  std::unique_ptr<LeaseKeeper> leases_;  // last: its thread ends before the members that it uses
};

Executor::Executor(const Graph& graph, const Plan& plan, const Snapshot& snapshot,
                   const Environment& environment, const RunOptions& options)
    : coordinator_(std::make_unique<Coordinator>(graph, plan, snapshot, environment, options)) {}

Executor::~Executor() = default;

Status Executor::Prepare() { return coordinator_->Prepare(); }

Status Executor::MarkLocations(std::stop_token stop) { return coordinator_->MarkLocations(std::move(stop)); }

RunOutcome Executor::Run(std::stop_token stop) { return coordinator_->Run(std::move(stop)); }

RunOutcome Executor::RunUnit(const std::string& unit, std::stop_token stop) {
  return coordinator_->RunUnit(unit, std::move(stop));
}

}  // namespace pipeline
