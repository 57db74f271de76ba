#include "dag/lease_keeper.h"

#include <algorithm>
#include <optional>

#include "base/log.h"
#include "base/str.h"
#include "base/time_limit.h"
#include "base/wait.h"

namespace pipeline {

namespace {

using Places = std::vector<std::pair<std::string, Store*>>;
constexpr std::chrono::seconds kMostGivingBack{10};
constexpr int kPeriods = 4;  // without a renewal, and nobody is taken to live there

/// Looks at those leases that others hold until each was silent for its time. Parallel to `places`; absent
/// where nobody else holds it.
Result<std::vector<std::optional<SeenLease>>> Watch(const Places& places, const LeaseTerms& terms,
                                                    const LeaseWait& wait,
                                                    const std::function<void(std::string_view)>& note,
                                                    const std::stop_token& stop) {
  std::vector<std::optional<SeenLease>> silent(places.size());
  std::chrono::milliseconds most{0}, step{0}, waited{0};
  for (std::size_t at = 0; at < places.size(); ++at) {
    ASSIGN_OR_RETURN(std::optional<SeenLease> seen, LookAtLease(*places[at].second, stop));
    if (!seen || seen->holder.empty() || seen->holder == terms.holder) continue;
    most = std::max(most, kPeriods * seen->every);
    step = step.count() == 0 ? seen->every : std::min(step, seen->every);
    silent[at] = std::move(seen);
    note(StrCat(places[at].first, ": was held by ", silent[at]->who, "; looking for up to ",
                (kPeriods * silent[at]->every + std::chrono::milliseconds(999)).count() / 1000,
                " s whether it lives"));
  }
  for (; waited < most; waited += step) {
    RETURN_IF_ERROR(wait(step, stop));
    for (std::size_t at = 0; at < places.size(); ++at) {
      if (!silent[at]) continue;
      ASSIGN_OR_RETURN(const std::optional<SeenLease> now, LookAtLease(*places[at].second, stop));
      if (!now || now->holder.empty()) {
        silent[at].reset();
      } else if (now->version != silent[at]->version) {
        return Status(Code::kFailedPrecondition,
                      StrCat(places[at].first, ": ", now->who,
                             " is writing there; wait until it has ended, or stop it there"));
      }
    }
  }
  return silent;
}

}  // namespace

LeaseWait SystemLeaseWait() {
  return [](std::chrono::milliseconds time, std::stop_token stop) -> Status {
    return WaitFor(time, std::move(stop)) ? Status() : Status(Code::kCancelled, "stopped");
  };
}

Result<std::unique_ptr<LeaseKeeper>> LeaseKeeper::Take(Places places, const LeaseTerms& terms,
                                                       const LeaseWait& wait,
                                                       const std::function<void(std::string_view)>& note,
                                                       std::stop_token stop) {
  // One order for everybody: of two runs that want the same places one gets them all.
  std::sort(places.begin(), places.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  ASSIGN_OR_RETURN(const std::vector<std::optional<SeenLease>> silent,
                   Watch(places, terms, wait, note, stop));
  std::unique_ptr<LeaseKeeper> keeper(new LeaseKeeper(terms, wait));
  for (std::size_t at = 0; at < places.size(); ++at) {
    ASSIGN_OR_RETURN(std::unique_ptr<Lease> lease,
                     Lease::Take(*places[at].second, places[at].first, terms, silent[at], stop));
    if (silent[at])
      LogWarning(
          StrCat(places[at].first, ": taken over from ", silent[at]->who, ", which gave no sign of life"));
    keeper->leases_.push_back(std::move(lease));
  }
  return keeper;
}

LeaseKeeper::~LeaseKeeper() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  // A run ends also where nobody answers any more: what is not given back is taken over after a while.
  const TimeLimit limit(kMostGivingBack, {});
  for (const std::unique_ptr<Lease>& lease : leases_) {
    // One that was lost is not ours to give back.
    const Status given = lease->GiveBack(limit.token());
    if (!given.ok() && given.code() != Code::kFailedPrecondition) LogWarning(given.message());
  }
}

void LeaseKeeper::Start(std::function<void(Status)> lost) {
  if (leases_.empty()) return;
  thread_ =
      std::jthread([this, lost = std::move(lost)](std::stop_token stop) { Loop(std::move(stop), lost); });
}

void LeaseKeeper::Loop(std::stop_token stop, const std::function<void(Status)>& lost) {
  while (wait_(every_, stop).ok()) {
    for (const std::unique_ptr<Lease>& lease : leases_) {
      // Without an answer for a turn it is asked anew: another connection may have one, and others wait.
      const TimeLimit limit(every_, stop);
      Status renewed = lease->Renew(limit.token());
      if (renewed.code() != Code::kFailedPrecondition) continue;
      lost(std::move(renewed));
      return;
    }
  }
}

}  // namespace pipeline
