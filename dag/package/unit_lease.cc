#include "dag/package/unit_lease.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/json.h"
#include "base/str.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kMaxLeaseBytes = 64 << 10;

/// A condition that does not hold is an answer, not a failure.
bool IsTaken(const Status& written) {
  return written.code() == Code::kAlreadyExists || written.code() == Code::kFailedPrecondition;
}

}  // namespace

std::string ObjectOfLease(std::string_view name) { return StrCat(kUnitLeasePrefix, name, kUnitLeaseSuffix); }

Result<SeenUnitLease> ReadUnitLease(Store& package, std::string_view name, const std::stop_token& stop) {
  SeenUnitLease seen;
  const Result<std::string> text = ReadObject(package, ObjectOfLease(name), kMaxLeaseBytes, stop);
  if (!text.ok() && text.status().code() == Code::kNotFound) return seen;
  if (!text.ok()) return text.status();
  const Result<Json> json = Json::Parse(*text);
  if (!json.ok()) return seen;
  seen.who = (*json)["who"].AsString("?");
  seen.attempt = static_cast<int>(std::clamp<std::int64_t>((*json)["attempt"].AsInt(1), 1, 1000));
  seen.began = std::max<std::int64_t>((*json)["began"].AsInt(), 0);
  return seen;
}

Result<std::optional<UnitLease>> UnitLease::Take(Store& package, const UnitLeaseTerms& terms,
                                                 std::string name, const std::stop_token& stop) {
  UnitLease lease(package, terms, std::move(name), 1);
  const Status written = lease.Write(Condition::CreateOnly(), stop);
  if (IsTaken(written)) return std::optional<UnitLease>();
  RETURN_IF_ERROR(written);
  return std::optional(std::move(lease));
}

Result<std::optional<UnitLease>> UnitLease::TakeOver(Store& package, const UnitLeaseTerms& terms,
                                                     std::string name, const ObjectInfo& silent,
                                                     const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const SeenUnitLease before, ReadUnitLease(package, name, stop));
  UnitLease lease(package, terms, std::move(name), before.attempt + 1);
  lease.before_ = before;
  const Status written = lease.Write(Condition::Replace(silent.version), stop);
  if (IsTaken(written)) return std::optional<UnitLease>();
  RETURN_IF_ERROR(written);
  return std::optional(std::move(lease));
}

Status UnitLease::Renew(const std::stop_token& stop) {
  ++renewal_;
  return Write(Condition::Replace(version_), stop);
}

Status UnitLease::GiveBack() { return package_->Remove(ObjectOfLease(name_)); }

Status UnitLease::Write(const Condition& condition, const std::stop_token& stop) {
  Json json;
  json["pipe_unit_lease"] = 1;
  json["nonce"] = terms_.nonce;
  json["who"] = terms_.who;
  json["attempt"] = attempt_;
  json["began"] = began_;
  json["every_ms"] = static_cast<std::int64_t>(terms_.every.count());
  json["renewal"] = renewal_;
  ASSIGN_OR_RETURN(const ObjectInfo info,
                   WriteObject(*package_, ObjectOfLease(name_), json.Dump(), condition, stop));
  version_ = info.version;
  return {};
}

}  // namespace pipeline
