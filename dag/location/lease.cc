#include "dag/location/lease.h"

#include <algorithm>

#include "base/json.h"
#include "base/str.h"
#include "dag/location/numbered_lease.h"
#include "dag/location/versioned_lease.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

constexpr std::chrono::milliseconds kShortest{100}, kLongest{60'000};

}  // namespace

Status LeaseIsLost(std::string_view location, std::string_view why) {
  return Status(Code::kFailedPrecondition,
                StrCat(location, ": ", why, "; this run stops, and its finished work is kept"))
      .With(std::make_shared<LostLease>());
}

Status HeldByAnother(std::string_view location, std::string_view who) {
  return Status(Code::kFailedPrecondition,
                StrCat(location, ": ", who, " is writing there; wait until it has ended, or stop it there"));
}

std::chrono::milliseconds LeasePeriod(std::int64_t every_ms) {
  return std::clamp(std::chrono::milliseconds(every_ms), kShortest, kLongest);
}

std::unique_ptr<Lease> Lease::At(Store& out, const std::string& location, LeaseTerms terms, bool locked) {
  if (IsRemote(location)) return std::make_unique<VersionedLease>(out, location, std::move(terms));
  return std::make_unique<NumberedLease>(out, location, std::move(terms), locked);
}

Status Lease::Take(const std::optional<SeenLease>& silent, std::stop_token stop) {
  for (;;) {
    if (stop.stop_requested()) return Status(Code::kCancelled, "stopped");
    ASSIGN_OR_RETURN(const std::optional<SeenLease> seen, Look(stop));
    if (seen && !IsFree(*seen) && !(silent && seen->version == silent->version))
      return HeldByAnother(location_, seen->who);
    ASSIGN_OR_RETURN(const bool taken, TakeSeen(seen, stop));
    if (taken) return {};
  }
}

Result<SeenLease> Lease::Read(std::string_view name, std::string version, std::stop_token stop) {
  SeenLease seen{std::move(version), "?", {}, "somebody", LeasePeriod(kUsualLeasePeriod), {}};
  const Result<std::string> text = ReadObject(out_, name, kMaxLeaseBytes, std::move(stop));
  if (!text.ok() && text.status().code() == Code::kCancelled) return text.status();
  const Result<Json> json = text.ok() ? Json::Parse(*text) : Result<Json>(text.status());
  if (!json.ok() || !json->is_object()) return seen;
  seen.holder = (*json)["holder"].AsString("?");
  seen.host = (*json)["host"].AsString();
  seen.who = (*json)["who"].AsString("somebody");
  seen.every = LeasePeriod((*json)["every_ms"].AsInt(kUsualLeasePeriod));
  seen.nonce = (*json)["nonce"].AsString();
  return seen;
}

}  // namespace pipeline
