#include "dag/package/unit_queue.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/str.h"
#include "dag/books/unit_id.h"
#include "dag/package/work_history.h"
#include "storage/store.h"

namespace pipeline {

namespace {

constexpr std::string_view kJobEnd = "/-";  // of the name of a Job's unit
constexpr int kSlow = 3;  // a straggler takes so many times as long as 95 % of the units of its stage

/// Old leases wait for so many, or for the age of another view.
constexpr std::size_t kLeasesAtOnce = 16;

/// A worker that was killed has no exit status.
constexpr int kNoAnswer = 137;

std::string WhyGivenUp() {
  return StrCat(kMostWorkers, " workers ended without an answer while they ran it; perhaps ",
                "they had too little memory");
}

}  // namespace

std::string WhyNobodyPlans(const SeenUnitLease& planning) {
  if (planning.attempt < kMostWorkers) return {};
  return StrCat("planning: ", WhyGivenUp(),
                "; no worker plans any more, until `pipe plan` or `pipe submit` goes on with the run");
}

std::string WhyUnfit(const UnitNeeds& needs, const WorkerRoom& room) {
  if (needs.memory && room.memory && *needs.memory > *room.memory)
    return StrCat("needs ", HumanBytes(*needs.memory), " of memory, and this worker has ",
                  HumanBytes(*room.memory), " (", room.memory_by, ")");
  if (needs.cores && room.cores && *needs.cores > *room.cores)
    return StrCat("needs ", *needs.cores, " cores, and this worker has ", *room.cores);
  if (needs.scratch && room.scratch && *needs.scratch > *room.scratch)
    return StrCat("needs ", HumanBytes(*needs.scratch), " of scratch, and this worker has ",
                  HumanBytes(*room.scratch), " (", room.scratch_in, ")");
  return {};
}

UnitQueue::UnitQueue(Store& package, QueueTerms terms, const Clock& clock)
    : package_(package), terms_(std::move(terms)), clock_(clock), place_(terms_.seed) {}

Status UnitQueue::Look(const std::stop_token& stop) {
  Result<PackageView> seen = LookAt(package_, view_ ? &*view_ : nullptr, clock_, stop);
  if (!seen.ok()) return std::move(seen).status();
  const bool new_plan = !view_ || view_->version != seen->version;
  bool changed = new_plan || view_->done != seen->done || view_->failed != seen->failed ||
                 watched_.size() != seen->leases.size();
  view_ = std::move(*seen);
  stale_ = false;
  tried_.clear();
  if (new_plan) {
    blocked_.clear();
    jobs_.clear();
    const std::vector<OfferedUnit>& units = view_->package->units;
    for (std::size_t at = 0; at < units.size(); ++at)
      if (units[at].unit.ends_with(kJobEnd)) jobs_.push_back(at);
  }
  std::map<std::string, Watched, std::less<>> watched;
  for (const auto& [name, lease] : view_->leases) {
    Watched now{lease.version, view_->seen, view_->seen};
    if (const auto before = watched_.find(name); before != watched_.end()) {
      now.first = before->second.first;
      if (before->second.version == now.version) now.since = before->second.since;
    }
    changed |= now.since == view_->seen;
    watched.emplace(name, std::move(now));
  }
  watched_ = std::move(watched);
  if (changed) changed_ = view_->seen;
  return {};
}

bool UnitQueue::IsOld() const { return clock_.Monotonic() - view_->seen > terms_.view_age; }

bool UnitQueue::WasAway() {
  const std::chrono::nanoseconds now = clock_.Monotonic(), before = std::exchange(called_, now);
  return now - before >= kSilentPeriods * terms_.lease.every;
}

bool UnitQueue::IsFree(const std::string& unit) const {
  return !view_->done.contains(unit) && !view_->leases.contains(unit) && !view_->GaveUp(unit) &&
         !tried_.contains(unit) && !blocked_.contains(unit);
}

bool UnitQueue::Fits(const OfferedUnit& unit) const {
  return !terms_.why_unfit || terms_.why_unfit(unit).empty();
}

std::string UnitQueue::NextFree() {
  if (IsUseless()) return {};
  const std::vector<OfferedUnit>& units = view_->package->units;
  const bool idle = wait_ >= terms_.most_wait;  // no other worker wants what failed here
  const auto is_next = [&](const OfferedUnit& unit) {
    return Fits(unit) && IsFree(unit.unit) && (idle || !failed_here_.contains(unit.unit));
  };
  // Other stages wait for the whole of a Job, and few workers may be large enough for it.
  for (const std::size_t at : jobs_)
    if (is_next(units[at])) return units[at].unit;
  for (std::size_t step = 0; step < units.size(); ++step) {
    const std::size_t at = (place_ + step) % units.size();
    if (!is_next(units[at])) continue;
    place_ = at;
    return units[at].unit;
  }
  return {};
}

bool UnitQueue::NameUnfit(Turn& turn) const {
  if (!terms_.why_unfit) return false;
  for (const OfferedUnit& unit : view_->package->units) {
    if (view_->done.contains(unit.unit) || view_->GaveUp(unit.unit)) continue;
    if (view_->leases.contains(unit.unit) && !IsSilent(unit.unit)) continue;
    turn.why = terms_.why_unfit(unit);
    if (turn.why.empty()) continue;
    turn.unit = unit.unit;
    return true;
  }
  return false;
}

std::size_t UnitQueue::MiddleOfLongestRun() const {
  const std::vector<OfferedUnit>& units = view_->package->units;
  std::size_t longest = 0, middle = 0, begin = 0;
  for (std::size_t at = 0; at <= units.size(); ++at) {
    if (at < units.size() && IsFree(units[at].unit)) continue;
    if (at - begin > longest) {
      longest = at - begin;
      middle = begin + longest / 2;
    }
    begin = at + 1;
  }
  return middle;
}

bool UnitQueue::IsSilent(std::string_view lease) const {
  const auto seen = watched_.find(lease);
  return seen != watched_.end() &&
         clock_.Monotonic() - seen->second.since >= kSilentPeriods * terms_.lease.every;
}

bool UnitQueue::IsStraggler(const OfferedUnit& unit) const {
  const std::optional<UnitId> id = ParseUnitId(unit.unit);
  const auto pace = id ? view_->package->pace.find(id->stage) : view_->package->pace.end();
  const auto seen = watched_.find(unit.unit);
  if (pace == view_->package->pace.end() || seen == watched_.end()) return false;
  if (view_->IsScanned(unit.unit)) return false;
  return clock_.Monotonic() - seen->second.first >=
         std::max<std::chrono::nanoseconds>(kSlow * pace->second, terms_.first_renewal);
}

Result<bool> UnitQueue::Take(const std::string& name, const std::string& unit, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(std::optional<UnitLease> lease, UnitLease::Take(package_, terms_.lease, name, stop));
  if (!lease) return false;
  Hold(std::move(*lease), unit);
  return true;
}

Result<bool> UnitQueue::TakeOverPlanning(const std::stop_token& stop) {
  const std::string name(kPlanningLease);
  ASSIGN_OR_RETURN(const SeenUnitLease silent, ReadUnitLease(package_, view_->leases.at(name), stop));
  const std::string why = WhyNobodyPlans(silent);
  if (why.empty()) return TakeOver(name, name, stop);
  // Another worker may have taken it over meanwhile, and live.
  ASSIGN_OR_RETURN(const std::optional<ObjectInfo> now, package_.Stat(ObjectOfLease(name)));
  if (!now || now->version != view_->leases.at(name).version) return false;
  // The lease stays as it is, so that all workers see its silence at the same time, and the loss counts once.
  (void)WriteHistory(package_, view_->package->run, {{}, {{name, silent.who, "nobody", silent.began}}});
  return Status(Code::kInvalidArgument, why);
}

Result<bool> UnitQueue::IsStillWanted(const std::stop_token& stop) {
  RETURN_IF_ERROR(Look(stop));
  const std::vector<OfferedUnit>& units = view_->package->units;
  const bool offered = std::any_of(units.begin(), units.end(),
                                   [this](const OfferedUnit& unit) { return unit.unit == held_unit_; });
  if (offered && !view_->end && !view_->done.contains(held_unit_)) return true;
  LogInfo(StrCat(held_unit_, ": was done before this worker had its lease, and is not begun again"));
  RETURN_IF_ERROR(Finished());
  return false;
}

Result<bool> UnitQueue::TakeOver(const std::string& name, const std::string& unit,
                                 const std::stop_token& stop) {
  ASSIGN_OR_RETURN(std::optional<UnitLease> lease,
                   UnitLease::TakeOver(package_, terms_.lease, name, view_->leases.at(name), stop));
  if (!lease) return false;
  const SeenUnitLease& before = *lease->before();
  // Only people ask for it.
  (void)WriteHistory(package_, view_->package->run,
                     {{}, {{unit, before.who, terms_.lease.who, before.began}}});
  if (lease->attempt() > kMostWorkers) {
    RETURN_IF_ERROR(
        AddAttempt(package_, unit, {terms_.lease.who, kNoAnswer, WhyGivenUp()}, true, stop).status());
    RETURN_IF_ERROR(lease->GiveBack());
    return false;
  }
  Hold(std::move(*lease), unit);
  return true;
}

void UnitQueue::Hold(UnitLease lease, std::string unit) {
  held_.emplace(std::move(lease), terms_.first_renewal, terms_.lease.every);
  tried_.insert(unit);
  held_unit_ = std::move(unit);
  wait_ = {};
}

Result<bool> UnitQueue::TakeAbandoned(const std::stop_token& stop) {
  if (IsUseless()) return false;
  for (const OfferedUnit& unit : view_->package->units) {
    if (view_->done.contains(unit.unit) || view_->GaveUp(unit.unit) || tried_.contains(unit.unit)) continue;
    if (!view_->leases.contains(unit.unit) || !Fits(unit)) continue;
    // This worker finished the unit, and a later plan has it made again.
    if (const auto mine = finished_.find(unit.unit); mine != finished_.end()) {
      if (mine->second.plan == view_->version) continue;
      const ObjectInfo lease = std::move(mine->second.lease);
      finished_.erase(mine);
      RETURN_IF_ERROR(RemoveKnown(package_, lease));
      stale_ = true;
      continue;
    }
    const std::string second = StrCat(unit.unit, kSecondLease);
    const bool silent = IsSilent(unit.unit), is_second = view_->leases.contains(second);
    if (!silent && (!IsStraggler(unit) || (is_second && !IsSilent(second)))) continue;
    ASSIGN_OR_RETURN(const bool taken, silent      ? TakeOver(unit.unit, unit.unit, stop)
                                       : is_second ? TakeOver(second, unit.unit, stop)
                                                   : Take(second, unit.unit, stop));
    if (taken) return true;
    stale_ = true;
  }
  return false;
}

bool UnitQueue::NeedsPlanning() const {
  if (IsUseless() || !view_->done.empty() || !view_->damaged.empty() || !view_->first_cuts.empty() ||
      !blocked_.empty())
    return true;
  return std::all_of(view_->package->units.begin(), view_->package->units.end(),
                     [this](const OfferedUnit& unit) { return view_->GaveUp(unit.unit); });
}

Result<UnitQueue::Turn> UnitQueue::Next(const std::stop_token& stop) {
  // The leases that an old view would meet go with the end of a run.
  stale_ |= WasAway();
  RETURN_IF_ERROR(RemoveLeases(Which::kOldOnesInGroups));
  bool looked = false;
  for (;;) {
    if (stop.stop_requested()) return Status(Code::kCancelled, "stopped");
    if (!view_ || stale_ || IsOld()) {
      RETURN_IF_ERROR(Look(stop));
      looked = true;
    }
    if (view_->end) return Turn{Kind::kEnded, {}, {}};
    if (const std::string unit = NextFree(); !unit.empty()) {
      ASSIGN_OR_RETURN(const bool taken, Take(unit, unit, stop));
      if (taken) {
        const bool late = WasAway();
        ASSIGN_OR_RETURN(const bool wanted, late ? IsStillWanted(stop) : Result<bool>(true));
        if (wanted) return Turn{Kind::kUnit, unit, {}};
        looked = true;
        continue;
      }
      // Another worker works here.
      RETURN_IF_ERROR(Look(stop));
      looked = true;
      place_ = MiddleOfLongestRun();
      continue;
    }
    if (!looked) {
      stale_ = true;
      continue;
    }
    ASSIGN_OR_RETURN(const bool taken, TakeAbandoned(stop));
    if (taken) {
      ASSIGN_OR_RETURN(const bool wanted, IsStillWanted(stop));
      if (wanted) return Turn{Kind::kUnit, held_unit_, {}};
      continue;
    }
    const bool plan = NeedsPlanning();
    if (plan) {
      const std::string name(kPlanningLease);
      const bool silent = view_->leases.contains(name) && IsSilent(name);
      Result<bool> planning = silent                          ? TakeOverPlanning(stop)
                              : !view_->leases.contains(name) ? Take(name, name, stop)
                                                              : Result<bool>(false);
      if (!planning.ok()) return std::move(planning).status();
      if (*planning) return Turn{Kind::kPlan, {}, {}};
    }
    stale_ = true;
    wait_ = std::clamp(2 * wait_, terms_.least_wait, terms_.most_wait);
    Turn turn{Kind::kWait, {}, wait_};
    if (NameUnfit(turn) && !plan && clock_.Monotonic() - changed_ >= terms_.view_age)
      turn.kind = Kind::kUnfit;
    return turn;
  }
}

Status UnitQueue::Finished() {
  const UnitLease lease = held_->Stop();
  held_.reset();
  failed_here_.erase(held_unit_);
  finished_.insert_or_assign(lease.name(), FinishedUnit{clock_.Monotonic(), view_->version, lease.object()});
  return {};
}

Status UnitQueue::Release() {
  UnitLease lease = held_->Stop();
  held_.reset();
  stale_ = true;
  return lease.GiveBack();
}

Status UnitQueue::Postpone() {
  failed_here_.insert(held_unit_);
  return Release();
}

Status UnitQueue::NeedsPlan() {
  blocked_.insert(held_unit_);
  return Release();
}

Status UnitQueue::NeedsOtherPlan() {
  useless_ = view_->version;
  return Release();
}

Result<bool> UnitQueue::Failed(int code, std::string why, const std::stop_token& stop) {
  failed_here_.insert(held_unit_);
  Result<UnitAttempts> attempts =
      AddAttempt(package_, held_unit_, {terms_.lease.who, code, std::move(why)}, false, stop);
  RETURN_IF_ERROR(Release());
  if (!attempts.ok()) return std::move(attempts).status();
  return attempts->given_up;
}

Status UnitQueue::RemoveLeases(Which which) {
  const std::chrono::nanoseconds now = clock_.Monotonic();
  if (which != Which::kAll && now - removed_ < terms_.lease.every) return {};
  removed_ = now;
  std::vector<std::string> names;
  std::vector<ObjectInfo> objects;
  bool is_late = false;
  for (const auto& [name, finished] : finished_) {
    // A view may have been taken just before the unit was done, and a lease is created some time after the
    // decision.
    const std::chrono::nanoseconds old =
        now - finished.since - terms_.view_age - kSilentPeriods * terms_.lease.every;
    if (which != Which::kAll && old < std::chrono::nanoseconds(0)) continue;
    is_late |= old >= terms_.view_age;
    names.push_back(name);
    objects.push_back(finished.lease);
  }
  // One request removes many.
  if (which == Which::kOldOnesInGroups && names.size() < kLeasesAtOnce && !is_late) return {};
  RETURN_IF_ERROR(RemoveObjects(package_, objects));
  for (const std::string& name : names) finished_.erase(name);
  return {};
}

// An old view must meet the leases until the run has ended. The worker that ended it has removed most.
Status UnitQueue::Leave() {
  const bool ended = view_ && view_->end;
  if (ended)
    std::erase_if(finished_, [this](const auto& lease) { return !view_->leases.contains(lease.first); });
  return RemoveLeases(ended ? Which::kAll : Which::kOldOnes);
}

}  // namespace pipeline
