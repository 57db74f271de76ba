#include "dag/location/lease_keeper.h"

#include <algorithm>
#include <optional>

#include "base/attendance.h"
#include "base/log.h"
#include "base/str.h"
#include "base/wait.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

constexpr std::chrono::seconds kMostGivingBack{10};
constexpr int kPeriods = 4;      // periods without a renewal after which the holder counts as dead
constexpr int kSurePeriods = 2;  // periods after a renewal in which nobody can take the holder for dead
constexpr int kLooks = 4;        // at silent leases, in each period

}  // namespace

LeaseWait SystemLeaseWait() {
  return [](std::chrono::milliseconds time, std::stop_token stop) -> Status {
    return WaitFor(time, std::move(stop)) ? Status() : Status(Code::kCancelled, "stopped");
  };
}

Result<std::unique_ptr<LeaseKeeper>> LeaseKeeper::Take(std::vector<HeldLocation> locations,
                                                       const LeaseTerms& terms, const LeaseWait& wait,
                                                       const Clock& clock,
                                                       const std::function<void(std::string_view)>& note,
                                                       std::stop_token stop) {
  // All runs use one order: of two runs that want the same locations, one gets them all.
  std::sort(locations.begin(), locations.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::unique_ptr<LeaseKeeper> keeper(new LeaseKeeper(terms, wait, clock));
  for (const auto& [location, out] : locations) {
    auto held = std::make_unique<Held>();
    held->location = location;
    if (!IsRemote(location)) {
      ASSIGN_OR_RETURN(const Uri uri, Uri::Parse(location));
      ASSIGN_OR_RETURN(held->lock, LocationLock::Take(uri.path, terms.who));
    }
    held->lease = Lease::At(*out, location, terms, held->lock != nullptr);
    keeper->held_.push_back(std::move(held));
  }
  ASSIGN_OR_RETURN(const std::vector<std::optional<SeenLease>> silent, keeper->Watch(note, stop));
  for (std::size_t at = 0; at < silent.size(); ++at) {
    Held& held = *keeper->held_[at];
    const Lock lock(held.mutex);
    held.known = clock.Monotonic();
    RETURN_IF_ERROR(held.lease->Take(silent[at], stop));
    held.taken = true;
    if (silent[at])
      LogWarning(
          StrCat(held.location, ": taken over from ", silent[at]->who, ", which gave no sign of life"));
  }
  return keeper;
}

Result<std::vector<std::optional<SeenLease>>> LeaseKeeper::Watch(
    const std::function<void(std::string_view)>& note, const std::stop_token& stop) {
  std::vector<std::optional<SeenLease>> silent(held_.size());
  std::chrono::milliseconds most{0}, step{0}, waited{0};
  for (std::size_t at = 0; at < held_.size(); ++at) {
    Lease& lease = *held_[at]->lease;
    ASSIGN_OR_RETURN(std::optional<SeenLease> seen, lease.Look(stop));
    if (!seen || lease.IsFree(*seen)) continue;
    most = std::max(most, kPeriods * seen->every);
    const std::chrono::milliseconds part = std::max(seen->every / kLooks, std::chrono::milliseconds(1));
    step = step.count() == 0 ? part : std::min(step, part);
    silent[at] = std::move(seen);
    note(StrCat(held_[at]->location, ": was held by ", silent[at]->who, "; waiting for up to ",
                (kPeriods * silent[at]->every + std::chrono::milliseconds(999)).count() / 1000,
                " s for a sign of life"));
  }
  const auto is_silent = [](const std::optional<SeenLease>& lease) { return lease.has_value(); };
  for (; waited < most && std::any_of(silent.begin(), silent.end(), is_silent); waited += step) {
    RETURN_IF_ERROR(wait_(step, stop));
    for (std::size_t at = 0; at < held_.size(); ++at) {
      if (!silent[at]) continue;
      Lease& lease = *held_[at]->lease;
      ASSIGN_OR_RETURN(const std::optional<SeenLease> now, lease.Look(stop));
      if (!now || now->holder.empty()) {
        silent[at].reset();
      } else if (now->version != silent[at]->version) {
        return HeldByAnother(held_[at]->location, now->who);
      }
    }
  }
  return silent;
}

LeaseKeeper::~LeaseKeeper() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  // A run must end even if the server does not answer. A lease that is not given back is taken over later.
  const TimeLimit limit(kMostGivingBack, {});
  // A person who ends the program while it plans ends all requests but these.
  std::optional<Attendance> last;
  if (PresentWait()) last.emplace(std::stop_token(), AttendanceTimes{.patience = kMostGivingBack});
  for (const std::unique_ptr<Held>& held : held_) {
    if (!held->taken) continue;
    const Status given = held->lease->GiveBack(limit.token());
    if (!given.ok() && given.Detail<LostLease>() == nullptr) LogWarning(given.message());
  }
}

void LeaseKeeper::Start(std::function<void(Status)> lost) {
  if (held_.empty()) return;
  thread_ =
      std::jthread([this, lost = std::move(lost)](std::stop_token stop) { Loop(std::move(stop), lost); });
}

void LeaseKeeper::Loop(std::stop_token stop, const std::function<void(Status)>& lost) {
  while (wait_(every_, stop).ok()) {
    for (const std::unique_ptr<Held>& held : held_) {
      if (!held->mutex.try_lock()) continue;  // it is being confirmed
      const Lock lock(held->mutex, std::adopt_lock);
      // If no answer comes within a period, the next turn asks again: another connection may get one, and the
      // other locations wait.
      const TimeLimit limit(every_, stop);
      Status renewed = Renew(*held, &Lease::Renew, limit.token());
      if (renewed.Detail<LostLease>() == nullptr) continue;
      lost(std::move(renewed));
      return;
    }
  }
}

Status LeaseKeeper::Renew(Held& held, Status (Lease::*how)(std::stop_token), std::stop_token stop) {
  RETURN_IF_ERROR(held.lost);
  const std::chrono::nanoseconds begun = clock_.Monotonic();
  Status renewed = (held.lease.get()->*how)(std::move(stop));
  if (renewed.ok()) held.known = begun;
  if (renewed.Detail<LostLease>() != nullptr) held.lost = renewed;
  return renewed;
}

LeaseKeeper::Held& LeaseKeeper::Find(const std::string& location) {
  return **std::find_if(held_.begin(), held_.end(), [&location](const std::unique_ptr<Held>& held) {
    return held->location == location;
  });
}

Status LeaseKeeper::Confirm(const std::string& location, std::stop_token stop) {
  Held& held = Find(location);
  const Lock lock(held.mutex);
  return Renew(held, &Lease::Confirm, std::move(stop));
}

Status LeaseKeeper::Check(const std::string& location, std::stop_token stop) {
  Held& held = Find(location);
  const Lock lock(held.mutex);
  RETURN_IF_ERROR(held.lost);
  if (clock_.Monotonic() - held.known <= kSurePeriods * every_) return {};
  return Renew(held, &Lease::Confirm, std::move(stop));
}

}  // namespace pipeline
