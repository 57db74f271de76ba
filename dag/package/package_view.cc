#include "dag/package/package_view.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/str.h"
#include "dag/package/unit_lease.h"
#include "dag/package/work_history.h"
#include "dag/package/work_results.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kMaxViewBytes = 64 << 20;

std::string ObjectOfAttempts(std::string_view unit) { return StrCat(kFailedPrefix, unit, kJsonSuffix); }

/// Returns the name between `prefix` and ".json". Absent: the object has another name.
std::optional<std::string> NameBelow(std::string_view prefix, std::string_view object) {
  if (!object.starts_with(prefix) || !object.ends_with(kJsonSuffix)) return std::nullopt;
  object.remove_prefix(prefix.size());
  object.remove_suffix(kJsonSuffix.size());
  return std::string(object);
}

}  // namespace

Result<UnitAttempts> AddAttempt(Store& package, std::string_view unit, const UnitAttempts::Attempt& attempt,
                                bool last, const std::stop_token& stop) {
  const std::string object = ObjectOfAttempts(unit);
  for (;;) {
    ASSIGN_OR_RETURN(const std::optional<ObjectInfo> there, package.Stat(object));
    UnitAttempts attempts;
    if (there) {
      const Result<std::string> text = ReadObject(package, *there, kMaxViewBytes, stop);
      // `pipe plan` forgot the attempts meanwhile, or the twin of this worker failed.
      if (text.status().code() == Code::kNotFound) continue;
      if (!text.ok() && !IsDamaged(text.status())) return text.status();
      // Unreadable attempts are forgotten: the unit is tried more often.
      Result<UnitAttempts> before = text.ok() ? ParseVersioned<UnitAttempts>(*text) : text.status();
      if (before.ok()) attempts = std::move(*before);
    }
    attempts.attempts.push_back(attempt);
    attempts.given_up |= last || attempts.attempts.size() >= kMostAttempts;
    const Status written =
        WriteObject(package, object, EncodeVersioned(attempts),
                    there ? Condition::Replace(there->version) : Condition::CreateOnly(), stop)
            .status();
    if (written.ok()) return attempts;
    // The twin of this worker failed at the same time.
    if (written.code() != Code::kAlreadyExists && written.code() != Code::kFailedPrecondition) return written;
  }
}

bool PackageView::GaveUp(std::string_view unit) const {
  const auto found = failed.find(unit);
  return found != failed.end() && found->second.given_up;
}

bool PackageView::HasBegun(std::string_view unit) const {
  constexpr std::string_view kWhole = "*";
  if (!unit.ends_with(kWhole)) return false;
  if (first_cuts.contains(unit)) return true;
  unit.remove_suffix(kWhole.size());
  const auto first = done.lower_bound(unit);
  return first != done.end() && first->first.starts_with(unit);
}

bool PackageView::IsScanned(std::string_view unit) const {
  const auto goes_on = [&](const OfferedUnit& offered) { return offered.scanned && offered.unit == unit; };
  return first_cuts.contains(unit) || std::any_of(package->units.begin(), package->units.end(), goes_on);
}

std::vector<const OfferedUnit*> PackageView::TooLarge(std::uint64_t memory) const {
  std::vector<const OfferedUnit*> units;
  for (const OfferedUnit& unit : package->units)
    if (unit.needs.memory.value_or(0) > memory && !done.contains(unit.unit) && !leases.contains(unit.unit) &&
        !GaveUp(unit.unit))
      units.push_back(&unit);
  return units;
}

std::string_view UnitOfLease(std::string_view name) {
  if (name.ends_with(kSecondLease)) name.remove_suffix(kSecondLease.size());
  return name;
}

std::vector<std::string> PackageView::RunningLeases() const {
  std::set<std::string_view> offered;
  for (const OfferedUnit& unit : package->units) offered.insert(unit.unit);
  std::vector<std::string> running;
  for (const auto& [name, lease] : leases) {
    const std::string_view unit = UnitOfLease(name);
    if (name == kPlanningLease || (offered.contains(unit) && !done.contains(unit))) running.push_back(name);
  }
  return running;
}

Result<PackageView> LookAt(Store& package, const PackageView* before, const Clock& clock,
                           const std::stop_token& stop) {
  PackageView view;
  view.seen = clock.Monotonic();
  ASSIGN_OR_RETURN(const std::vector<ObjectInfo> objects, package.List(""));
  for (const ObjectInfo& object : objects) {
    if (object.name == kWorkPackageName) {
      view.version = object.version;
    } else if (object.name == kRunEndName) {
      const Result<std::string> text = ReadObject(package, object.name, kMaxViewBytes, stop);
      if (text.status().code() == Code::kNotFound) continue;  // `pipe plan` goes on with the run
      Result<RunEnd> end = text.ok() ? ParseVersioned<RunEnd>(*text) : text.status();
      if (end.status().code() == Code::kFailedPrecondition)
        return Status(Code::kInvalidArgument, StrCat(kRunEndName, ": ", end.status().message()));
      // A worker finds that nothing is left, and replaces a damaged one.
      if (!end.ok() && !IsDamaged(end.status())) return std::move(end).status();
      if (end.ok()) view.end = std::move(*end);
    } else if (std::optional<std::string> lease = NameBelow(kUnitLeasePrefix, object.name)) {
      view.leases.emplace(std::move(*lease), object);
    } else if (std::optional<std::string> done = NameBelow("done/", object.name)) {
      const std::string_view unit = UnitOfRecord(*done);
      if (unit.size() == done->size())
        view.done.emplace(unit, object);
      else
        view.first_cuts.emplace(unit);
    } else if (std::optional<std::string> damaged = NameBelow("void/", object.name)) {
      view.damaged.insert(std::move(*damaged));
    } else if (std::optional<std::string> unit = NameBelow(kFailedPrefix, object.name)) {
      if (before != nullptr)
        if (const auto known = before->failed.find(*unit);
            known != before->failed.end() && known->second.version == object.version) {
          view.failed.insert(*known);
          continue;
        }
      const Result<std::string> text = ReadObject(package, object.name, kMaxViewBytes, stop);
      if (!text.ok() && text.status().code() == Code::kNotFound) continue;
      if (!text.ok() && !IsDamaged(text.status())) return text.status();
      Result<UnitAttempts> attempts = text.ok() ? ParseVersioned<UnitAttempts>(*text) : text.status();
      UnitAttempts& failed = view.failed[*unit];
      if (attempts.ok()) failed = std::move(*attempts);
      failed.version = object.version;
    }
  }
  if (before != nullptr && !view.version.empty() && view.version == before->version) {
    view.package = before->package;
  } else {
    Result<WorkPackage> plan = ReadWorkPackage(package);
    if (plan.status().code() == Code::kNotFound)
      return Status(Code::kNotFound,
                    StrCat(plan.status().message(),
                           "; there is no work package here any more: ", "plan again, or submit again"));
    if (!plan.ok()) return std::move(plan).status();
    view.package = std::make_shared<const WorkPackage>(std::move(*plan));
  }
  const std::string history = StrCat(kHistoryPrefix, view.package->run, "/");
  for (const ObjectInfo& object : objects)
    if (object.name.starts_with(history)) view.history.push_back(object);
  // A worker that was frozen for long may write the end of a plan that another one has replaced.
  if (view.end && !view.end->plan.empty() && view.end->plan != view.package->nonce) view.end.reset();
  return view;
}

}  // namespace pipeline
