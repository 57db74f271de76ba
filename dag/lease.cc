#include "dag/lease.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/json.h"
#include "base/str.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kMaxLeaseBytes = 64 << 10;
constexpr std::chrono::milliseconds kShortest{100}, kUsual{15'000}, kLongest{60'000};

}  // namespace

Result<std::optional<SeenLease>> LookAtLease(Store& out, std::stop_token stop) {
  ASSIGN_OR_RETURN(const std::optional<ObjectInfo> there, out.Stat(kLeaseName));
  if (!there) return std::optional<SeenLease>();
  SeenLease seen{there->version, "?", "somebody", kUsual};
  const Result<std::string> text = ReadObject(out, kLeaseName, kMaxLeaseBytes, std::move(stop));
  if (!text.ok() && text.status().code() == Code::kCancelled) return text.status();
  const Result<Json> json = text.ok() ? Json::Parse(*text) : Result<Json>(text.status());
  if (!json.ok() || !json->is_object()) return std::optional(std::move(seen));
  seen.holder = (*json)["holder"].AsString("?");
  seen.who = (*json)["who"].AsString("somebody");
  const std::chrono::milliseconds every((*json)["every_ms"].AsInt(kUsual.count()));
  seen.every = std::clamp(every, kShortest, kLongest);
  return std::optional(std::move(seen));
}

Result<std::unique_ptr<Lease>> Lease::Take(Store& out, std::string place, const LeaseTerms& terms,
                                           const std::optional<SeenLease>& silent, std::stop_token stop) {
  std::unique_ptr<Lease> lease(new Lease(out, std::move(place), terms));
  for (;;) {
    if (stop.stop_requested()) return Status(Code::kCancelled, "stopped");
    ASSIGN_OR_RETURN(const std::optional<SeenLease> seen, LookAtLease(out, stop));
    const bool free = !seen || seen->holder.empty() || seen->holder == terms.holder ||
                      (silent && seen->version == silent->version);
    if (!free)
      return Status(Code::kFailedPrecondition,
                    StrCat(lease->place_, ": ", seen->who,
                           " is writing there; wait until it has ended, or stop it there"));
    const Status taken =
        lease->Write(terms.holder, seen ? Condition::Replace(seen->version) : Condition::CreateOnly(), stop);
    if (taken.ok()) return lease;
    // Somebody else was quicker, or gave it back: look again.
    if (taken.code() != Code::kFailedPrecondition && taken.code() != Code::kAlreadyExists) return taken;
  }
}

Status Lease::Write(std::string_view holder, const Condition& condition, std::stop_token stop) {
  Json json;
  json["pipe_lease"] = 1;
  json["holder"] = holder;
  json["who"] = terms_.who;
  json["every_ms"] = static_cast<std::int64_t>(terms_.every.count());
  json["renewal"] = static_cast<std::int64_t>(renewal_++);
  ASSIGN_OR_RETURN(const ObjectInfo info,
                   WriteObject(out_, kLeaseName, json.Dump(), condition, std::move(stop)));
  version_ = info.version;
  return {};
}

Status Lease::Renew(std::stop_token stop) {
  Status renewed = Write(terms_.holder, Condition::Replace(version_), stop);
  if (renewed.code() != Code::kFailedPrecondition) return renewed;
  ASSIGN_OR_RETURN(const bool ours, FindOurs(std::move(stop)));
  if (ours) return {};
  return Status(
      Code::kFailedPrecondition,
      StrCat(place_, ": another run has taken it over; this one stops, and what is finished stands"));
}

Status Lease::GiveBack(std::stop_token stop) {
  Status given = Write({}, Condition::Replace(version_), stop);
  if (given.code() != Code::kFailedPrecondition) return given;
  ASSIGN_OR_RETURN(const bool ours, FindOurs(stop));
  return ours ? Write({}, Condition::Replace(version_), std::move(stop)) : given;
}

Result<bool> Lease::FindOurs(std::stop_token stop) {
  ASSIGN_OR_RETURN(const std::optional<SeenLease> seen, LookAtLease(out_, std::move(stop)));
  if (!seen || seen->holder != terms_.holder || seen->who != terms_.who) return false;
  version_ = seen->version;
  return true;
}

}  // namespace pipeline
