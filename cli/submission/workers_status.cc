#include "cli/submission/workers_status.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/str.h"
#include "cli/workspace/work_result.h"
#include "dag/books/unit_id.h"
#include "dag/package/unit_lease.h"
#include "storage/remote/open_store.h"

namespace pipeline {

namespace {

std::string Seconds(std::chrono::milliseconds time) { return StrCat(time.count() / 1000, " s"); }

std::string ToText(const WorkerStatus& worker) {
  std::string text = StrCat("  ", worker.unit.empty() ? "planning" : worker.unit, ": ", worker.who);
  if (worker.since.count() > 0) text += StrCat(", for ", Seconds(worker.since));
  if (worker.attempt > 1) text += StrCat(", the ", worker.attempt - 1, " before it gave no sign of life");
  if (worker.second) text += ", a second time beside a slow worker";
  if (worker.is_straggler())
    text += StrCat("; slow: 95 % of its stage took less than ", Seconds(worker.pace));
  return text;
}

}  // namespace

Result<std::optional<WorkersStatus>> LookAtWorkers(Store& work, std::int64_t now,
                                                   const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const std::optional<std::string> place, PackageOf(work));
  if (!place) return std::optional<WorkersStatus>();
  WorkersStatus status;
  status.package = *place;
  ASSIGN_OR_RETURN(const std::unique_ptr<Store> package, OpenStore(*place));
  Result<PackageView> view = LookAt(*package, nullptr, SystemClock(), stop);
  if (!view.ok() && view.status().code() == Code::kNotFound) return std::optional<WorkersStatus>();
  if (!view.ok()) return std::move(view).status();
  status.view = std::move(*view);
  ASSIGN_OR_RETURN(status.submission, ReadSubmission(*package, stop));
  for (const std::string& name : status.view.RunningLeases()) {
    const std::string unit(UnitOfLease(name));
    ASSIGN_OR_RETURN(const SeenUnitLease seen, ReadUnitLease(*package, name, stop));
    WorkerStatus worker;
    if (name != kPlanningLease) worker.unit = unit;
    worker.who = seen.who;
    worker.attempt = seen.attempt;
    worker.second = unit != name;
    if (seen.began > 0) worker.since = std::chrono::milliseconds(std::max<std::int64_t>(now - seen.began, 0));
    const std::optional<UnitId> id = ParseUnitId(unit);
    if (const auto pace = status.view.package->pace.find(id ? id->stage : "");
        pace != status.view.package->pace.end())
      worker.pace = pace->second;
    status.workers.push_back(std::move(worker));
  }
  return std::optional(std::move(status));
}

std::string ToText(const WorkersStatus& status) {
  std::string text;
  const auto add = [&text](std::string_view line) { text += StrCat(text.empty() ? "" : "\n", line); };
  std::size_t waiting = 0;
  for (const OfferedUnit& unit : status.view.package->units)
    if (!status.view.done.contains(unit.unit) && !status.view.leases.contains(unit.unit)) ++waiting;
  if (status.view.end || (waiting == 0 && status.workers.empty())) return text;
  add(StrCat("workers: ", status.workers.size(), " at work, ", status.view.done.size(),
             " results since the last plan, ", waiting, " units wait, in ", status.package));
  if (status.submission)
    add(StrCat("  ", status.submission->workers, " started by ", status.submission->engine, ", job ",
               status.submission->job, ", from ", status.submission->host));
  for (const WorkerStatus& worker : status.workers) add(ToText(worker));
  for (const auto& [unit, attempts] : status.view.failed)
    for (const UnitAttempts::Attempt& attempt : attempts.attempts)
      add(StrCat("  failed: ", unit, ": ", attempt.who, ": ", attempt.why));
  return text;
}

Json ToJson(const WorkersStatus& status) {
  Json json;
  json["package"] = status.package;
  json["results"] = status.view.done.size();
  json["offered"] = status.view.package->units.size();
  json["ended"] = status.view.end.has_value();
  json["units"] = Json(Json::Array{});
  for (const WorkerStatus& worker : status.workers) {
    Json one;
    one["unit"] = worker.unit.empty() ? std::string(kPlanningLease) : worker.unit;
    one["who"] = worker.who;
    one["attempt"] = worker.attempt;
    one["second"] = worker.second;
    one["slow"] = worker.is_straggler();
    if (worker.since.count() > 0) one["since_ms"] = static_cast<std::int64_t>(worker.since.count());
    json["units"].Append(std::move(one));
  }
  return json;
}

}  // namespace pipeline
