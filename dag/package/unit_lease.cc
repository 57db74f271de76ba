#include "dag/package/unit_lease.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/str.h"
#include "base/wait.h"
#include "dag/package/versioned_json.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kMaxUnitLeaseBytes = 64 << 10;

/// A condition that does not hold is an answer, not a failure.
bool IsTaken(const Status& written) {
  return written.code() == Code::kAlreadyExists || written.code() == Code::kFailedPrecondition;
}

}  // namespace

std::string ObjectOfLease(std::string_view name) { return StrCat(kUnitLeasePrefix, name, kJsonSuffix); }

Result<SeenUnitLease> ReadUnitLease(Store& package, const ObjectInfo& lease, const std::stop_token& stop) {
  SeenUnitLease seen;
  const Result<std::string> text = ReadObject(package, lease, kMaxUnitLeaseBytes, stop);
  if (text.status().code() == Code::kNotFound || IsDamaged(text.status())) return seen;
  if (!text.ok()) return text.status();
  const Result<Json> json = Json::Parse(*text);
  if (!json.ok()) return seen;
  seen.who = (*json)["who"].AsString("?");
  seen.attempt = static_cast<int>(std::clamp<std::int64_t>((*json)["attempt"].AsInt(1), 1, 1000));
  seen.began = std::max<std::int64_t>((*json)["began"].AsInt(), 0);
  if (const std::int64_t ran = (*json)["ran_ms"].AsInt(-1); ran >= 0)
    seen.ran = std::chrono::milliseconds(std::min(ran, kLongestUnit));
  seen.every =
      std::chrono::milliseconds(std::clamp<std::int64_t>((*json)["every_ms"].AsInt(15'000), 100, 60'000));
  seen.memory = (*json)["memory"].AsCount();
  return seen;
}

LeaseAge AgeOf(const SeenUnitLease& lease, std::int64_t now) {
  if (lease.began == 0) return {};
  const std::chrono::milliseconds by_clocks(std::max<std::int64_t>(now - lease.began, 0));
  if (!lease.ran) return {by_clocks};
  const bool fits =
      now >= lease.began && by_clocks >= *lease.ran && by_clocks <= *lease.ran + kSilentPeriods * lease.every;
  return fits ? LeaseAge{by_clocks} : LeaseAge{*lease.ran, true};
}

Result<std::optional<UnitLease>> UnitLease::Take(Store& package, const UnitLeaseTerms& terms,
                                                 std::string name, const std::stop_token& stop) {
  UnitLease lease(package, terms, std::move(name), 1);
  const Status written = lease.Write(Condition::CreateOnly(), stop);
  if (IsTaken(written)) return std::nullopt;
  RETURN_IF_ERROR(written);
  return lease;
}

Result<std::optional<UnitLease>> UnitLease::TakeOver(Store& package, const UnitLeaseTerms& terms,
                                                     std::string name, const ObjectInfo& silent,
                                                     const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const SeenUnitLease before, ReadUnitLease(package, silent, stop));
  UnitLease lease(package, terms, std::move(name), before.attempt + 1);
  lease.before_ = before;
  const Status written = lease.Write(Condition::Replace(silent.version), stop);
  if (IsTaken(written)) return std::nullopt;
  RETURN_IF_ERROR(written);
  return lease;
}

Status UnitLease::Renew(const std::stop_token& stop) {
  ++renewal_;
  if (object_.version.empty()) {
    ASSIGN_OR_RETURN(const std::optional<ObjectInfo> own, FindOwn());
    if (!own) return Status(Code::kFailedPrecondition, StrCat(object_.name, ": another worker has it"));
    object_ = *own;
  }
  const Status renewed = Write(Condition::Replace(object_.version), stop);
  // It may have been written.
  if (!renewed.ok() && !IsTaken(renewed)) object_.version.clear();
  return renewed;
}

Status UnitLease::GiveBack() {
  if (!object_.version.empty()) return RemoveKnown(*package_, object_);
  ASSIGN_OR_RETURN(const std::optional<ObjectInfo> own, FindOwn());
  return own ? RemoveKnown(*package_, *own) : Status();
}

Result<std::optional<ObjectInfo>> UnitLease::FindOwn() const {
  ASSIGN_OR_RETURN(std::optional<ObjectInfo> there, package_->Stat(object_.name));
  if (!there) return there;
  const Result<std::string> text = ReadObject(*package_, *there, kMaxUnitLeaseBytes);
  if (!text.ok() && text.status().code() != Code::kNotFound && !IsDamaged(text.status()))
    return text.status();
  const Result<Json> json = text.ok() ? Json::Parse(*text) : text.status();
  if (!json.ok() || (*json)["nonce"].AsString() != terms_.nonce) there.reset();
  return there;
}

Status UnitLease::Write(const Condition& condition, const std::stop_token& stop) {
  const auto ran = SystemClock().Monotonic() - taken_;
  JsonWriter json;
  json.Written("pipe_unit_lease", 1).Written("nonce", terms_.nonce).Written("who", terms_.who);
  json.Written("attempt", attempt_).Written("began", began_).Written("every_ms", terms_.every);
  json.Written("ran_ms", std::chrono::duration_cast<std::chrono::milliseconds>(ran));
  json.Written("renewal", renewal_).Loose("memory", terms_.memory);
  ASSIGN_OR_RETURN(object_,
                   WriteObject(*package_, ObjectOfLease(name_), json.Finish().Dump(), condition, stop));
  return {};
}

LeaseRenewal::LeaseRenewal(UnitLease lease, std::chrono::milliseconds first, std::chrono::milliseconds every)
    : name_(lease.name()),
      lease_(std::move(lease)),
      thread_([this, first, every](const std::stop_token& stop) { Loop(stop, first, every); }) {}

UnitLease LeaseRenewal::Stop() {
  thread_.request_stop();
  thread_.join();
  return std::move(lease_);
}

void LeaseRenewal::Loop(const std::stop_token& stop, std::chrono::milliseconds first,
                        std::chrono::milliseconds every) {
  for (std::chrono::milliseconds wait = first; WaitFor(wait, stop); wait = every) {
    const TimeLimit limit(every, stop);
    if (lease_.Renew(limit.token()).code() == Code::kFailedPrecondition) return;
  }
}

}  // namespace pipeline
