#include "dag/location/versioned_lease.h"

#include "base/json_fields.h"

namespace pipeline {

Result<std::optional<SeenLease>> VersionedLease::Look(std::stop_token stop) {
  ASSIGN_OR_RETURN(const std::optional<ObjectInfo> there, out_.Stat(kLeaseName));
  if (!there) return std::nullopt;
  ASSIGN_OR_RETURN(SeenLease seen, Read(kLeaseName, there->version, std::move(stop)));
  return seen;
}

Result<bool> VersionedLease::TakeSeen(const std::optional<SeenLease>& seen, std::stop_token stop) {
  Status taken = Write(terms_.holder, seen ? Condition::Replace(seen->version) : Condition::CreateOnly(),
                       std::move(stop));
  if (taken.code() == Code::kFailedPrecondition || taken.code() == Code::kAlreadyExists) return false;
  RETURN_IF_ERROR(taken);
  return true;
}

Status VersionedLease::Write(std::string_view holder, const Condition& condition, std::stop_token stop) {
  JsonWriter json;
  json.Written("pipe_lease", 1).Written("holder", std::string(holder)).Written("who", terms_.who);
  json.Written("every_ms", terms_.every).Written("renewal", renewal_++);
  ASSIGN_OR_RETURN(const ObjectInfo info,
                   WriteObject(out_, kLeaseName, json.Finish().Dump(), condition, std::move(stop)));
  version_ = info.version;
  return {};
}

Status VersionedLease::Renew(std::stop_token stop) {
  for (;;) {
    Status renewed = Write(terms_.holder, Condition::Replace(version_), stop);
    if (renewed.code() != Code::kFailedPrecondition) return renewed;
    RETURN_IF_ERROR(FindOurs(stop));
    // An earlier renewal of this run, whose answer was lost. Others have waited since then, perhaps for long,
    // so only a change that is made now counts.
  }
}

Status VersionedLease::GiveBack(std::stop_token stop) {
  Status given = Write({}, Condition::Replace(version_), stop);
  if (given.code() != Code::kFailedPrecondition) return given;
  RETURN_IF_ERROR(FindOurs(stop));
  return Write({}, Condition::Replace(version_), std::move(stop));
}

Status VersionedLease::FindOurs(std::stop_token stop) {
  ASSIGN_OR_RETURN(const std::optional<SeenLease> seen, Look(std::move(stop)));
  if (!seen) return LeaseIsLost(location_, kLeaseRemoved);
  if (seen->holder != terms_.holder || seen->who != terms_.who) return LeaseIsLost(location_, kTakenOver);
  version_ = seen->version;
  return {};
}

}  // namespace pipeline
