#include "cli/submission/workers_status.h"

#include <limits>
#include <memory>

#include "base/clock.h"
#include "base/enumeration.h"
#include "base/json_fields.h"
#include "base/str.h"
#include "base/terminal_text.h"
#include "cli/report/html.h"
#include "cli/workspace/work_result.h"
#include "dag/books/unit_id.h"
#include "dag/package/work_results.h"
#include "storage/remote/open_store.h"

namespace pipeline {

namespace {

constexpr std::size_t kHostsInLine = 8, kHosts = 20, kStragglersInLine = 3, kStragglers = 10;
constexpr std::size_t kMostName = 60;  // bytes of a worker's name

double Seconds(std::int64_t milliseconds) { return static_cast<double>(milliseconds) / 1000; }

/// A host can have any name, so it is shown on one line.
std::string Shown(std::string_view who) { return Readable(who, kMostName); }

/// Returns ", 8.3 per minute"; empty: the rate is unknown.
std::string Rate(double per_minute) {
  return per_minute > 0 ? StrCat(", ", Fixed(per_minute, per_minute < 100 ? 1 : 0), " per minute")
                        : std::string();
}

/// Returns ", about 3 m 20 s left"; empty: that is unknown.
std::string Left(const StageProgress& stage) {
  if (stage.left == 0 || stage.per_minute <= 0) return {};
  return StrCat(", about ", Span(60 * static_cast<double>(stage.left) / stage.per_minute), " left");
}

std::string Slow(const WorkerStatus& worker) {
  return StrCat("slow: 95 % of its stage took less than ", Span(Seconds(worker.pace.count())));
}

std::string ToText(const WorkerStatus& worker) {
  std::string text = StrCat("  ", worker.unit.empty() ? "planning" : worker.unit, ": ", Shown(worker.who));
  if (worker.age.time.count() > 0) text += StrCat(", for ", Span(Seconds(worker.age.time.count())));
  if (worker.age.at_last_sign)
    text += worker.age.time.count() > 0 ? " at its last sign of life" : ", no sign of life since it began";
  if (worker.attempt > 1) text += StrCat(", the ", worker.attempt - 1, " before it gave no sign of life");
  if (worker.second) text += ", a second time beside a slow worker";
  if (worker.is_straggler()) text += StrCat("; ", Slow(worker));
  return text;
}

std::string ToText(const HostWork& host) {
  std::string text = StrCat("  host ", Shown(host.host), ": ", Counted(host.workers, "worker"), ", ",
                            Counted(host.units, "unit"), Rate(host.per_minute), ", ",
                            Span(Seconds(host.inside_ms)), " in units, ", HumanBytes(host.bytes), " written");
  if (host.twice > 0) text += StrCat(", ", host.twice, " done twice");
  if (host.lost > 0) text += StrCat(", ", host.lost, " lost");
  return text;
}

std::string ToText(const std::string& stage, const StageProgress& progress) {
  return StrCat("  stage ", stage, ": ", Counted(progress.done, "unit"), " done, ", progress.left, " left",
                Rate(progress.per_minute), Left(progress));
}

struct Offered {
  std::size_t all = 0, done = 0, given_up = 0, waiting = 0;
};

Offered OfferedIn(const PackageView& view) {
  Offered offered;
  offered.all = view.package->units.size();
  for (const OfferedUnit& unit : view.package->units) {
    if (view.done.contains(unit.unit))
      ++offered.done;
    else if (!view.leases.contains(unit.unit))
      ++offered.waiting;
    if (view.GaveUp(unit.unit)) ++offered.given_up;
  }
  return offered;
}

/// Returns what all workers do now, without hosts.
std::string Sums(const WorkersStatus& status, std::size_t running) {
  const Offered offered = OfferedIn(status.view);
  double per_minute = 0;
  for (const auto& [stage, progress] : status.Stages())
    if (progress.left > 0) per_minute += progress.per_minute;
  std::string text = StrCat(Counted(offered.all, "unit"), " offered, ", offered.done, " of them done, ",
                            running, " running", Rate(per_minute));
  if (offered.given_up > 0) text += StrCat(", ", offered.given_up, " given up");
  if (status.view.leases.contains(kPlanningLease)) text += ", a worker plans";
  return text;
}

std::size_t RunningIn(const WorkersStatus& status) {
  return static_cast<std::size_t>(
      std::count_if(status.workers.begin(), status.workers.end(),
                    [](const WorkerStatus& worker) { return !worker.unit.empty(); }));
}

}  // namespace

std::map<std::string, std::size_t> WorkersStatus::AtWork() const {
  std::map<std::string, std::size_t> hosts;
  for (const WorkerStatus& worker : workers) ++hosts[HostOf(worker.who)];
  return hosts;
}

std::map<std::string, StageProgress> WorkersStatus::Stages() const {
  std::map<std::string, StageProgress> stages;
  for (const UnitTurn& turn : work.turns) ++stages[std::string(StageOfUnit(turn.unit))].done;
  for (const OfferedUnit& unit : view.package->units)
    if (!view.done.contains(unit.unit) && !view.GaveUp(unit.unit))
      ++stages[std::string(StageOfUnit(unit.unit))].left;
  const std::map<std::string, std::size_t> at_work = AtWork();
  for (const HostWork& host : work.hosts)
    if (at_work.contains(host.host))
      for (const auto& [stage, per_minute] : host.stage_per_minute) stages[stage].per_minute += per_minute;
  return stages;
}

std::vector<WorkerStatus> WorkersWatch::WorkersIn(const PackageView& view, std::int64_t now,
                                                  const std::stop_token& stop) {
  std::vector<WorkerStatus> workers;
  std::map<std::string, std::pair<std::string, SeenUnitLease>> leases;
  for (const std::string& name : view.RunningLeases()) {
    const ObjectInfo& object = view.leases.at(name);
    const std::string& version = object.version;
    std::pair<std::string, SeenUnitLease> seen;
    if (const auto before = leases_.find(name); before != leases_.end() && before->second.first == version) {
      seen = before->second;
    } else if (Result<SeenUnitLease> lease = ReadUnitLease(package_, object, stop); lease.ok()) {
      seen = {version, std::move(*lease)};
    }
    const std::string unit(UnitOfLease(name));
    WorkerStatus& worker = workers.emplace_back();
    if (name != kPlanningLease) worker.unit = unit;
    worker.who = seen.second.who;
    worker.attempt = seen.second.attempt;
    worker.memory = seen.second.memory;
    worker.second = unit != name;
    worker.age = AgeOf(seen.second, now);
    if (const auto pace = view.package->pace.find(StageOfUnit(unit));
        pace != view.package->pace.end() && !view.IsScanned(unit))
      worker.pace = pace->second;
    leases.emplace(name, std::move(seen));
  }
  leases_ = std::move(leases);
  return workers;
}

void WorkersWatch::ReadWork(const PackageView& view, std::size_t most_results, const std::stop_token& stop) {
  if (run_ != view.package->run) {
    run_ = view.package->run;
    history_ = {};
    read_.clear();
  }
  const auto add_new = [this](const ObjectInfo& object, std::size_t most, std::vector<ObjectInfo>& some) {
    if (some.size() < most && !read_.contains(object.name)) some.push_back(object);
  };
  const auto keep = [this](const Result<WorkHistory>& more, const std::vector<ObjectInfo>& objects) {
    if (!more.ok()) return;
    history_.Add(*more);
    for (const ObjectInfo& object : objects) read_.insert(object.name);
  };
  std::vector<std::string> unreadable;  // `pipe report` names them
  std::vector<ObjectInfo> history, records;
  for (const ObjectInfo& object : view.history) add_new(object, view.history.size(), history);
  keep(ReadHistory(package_, history, unreadable, stop), history);
  // Those of an earlier program tell too little, and belong to no run.
  if (run_.empty()) return;
  for (const auto& [unit, object] : view.done) add_new(object, most_results, records);
  keep(ReadFinished(package_, records, stop), records);
}

WorkersStatus WorkersWatch::Look(PackageView view, std::int64_t now, std::size_t most_results,
                                 const std::stop_token& stop) {
  WorkersStatus status;
  status.package = place_;
  status.workers = WorkersIn(view, now, stop);
  ReadWork(view, most_results, stop);
  status.work = Summarise(history_);
  status.view = std::move(view);
  return status;
}

std::uint64_t WorkersStatus::LargestMemory() const {
  std::uint64_t most = submission ? submission->memory : 0;
  for (const WorkerStatus& worker : workers) most = std::max(most, worker.memory);
  return most;
}

std::vector<const OfferedUnit*> WorkersStatus::TooLarge() const {
  const std::uint64_t memory = LargestMemory();
  return memory == 0 ? std::vector<const OfferedUnit*>() : view.TooLarge(memory);
}

Result<std::optional<WorkersStatus>> LookAtWorkers(Store& work, std::int64_t now,
                                                   const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const std::optional<std::string> place, PackageOf(work));
  if (!place) return std::optional<WorkersStatus>();
  ASSIGN_OR_RETURN(const std::unique_ptr<Store> package, OpenStore(*place));
  Result<PackageView> view = LookAt(*package, nullptr, SystemClock(), stop);
  if (!view.ok() && view.status().code() == Code::kNotFound) return std::optional<WorkersStatus>();
  if (!view.ok()) return std::move(view).status();
  WorkersStatus status = WorkersWatch(*package, *place)
                             .Look(std::move(*view), now, std::numeric_limits<std::size_t>::max(), stop);
  ASSIGN_OR_RETURN(status.submission, ReadSubmission(*package, stop));
  return std::optional(std::move(status));
}

std::string ToText(const WorkersStatus& status) {
  std::string text;
  const auto add = [&text](std::string_view line) { text += StrCat(text.empty() ? "" : "\n", line); };
  const Offered offered = OfferedIn(status.view);
  const bool over = status.view.end || (offered.waiting == 0 && status.workers.empty());
  if (over && status.work.hosts.empty()) return text;
  if (over)
    add(StrCat("workers: ", status.view.end ? "the run has ended" : "none at work", ", in ", status.package));
  else
    add(StrCat("workers: ", status.workers.size(), " at work, ", status.view.done.size(),
               " results since the last plan, ", offered.waiting, " units wait, in ", status.package));
  if (status.submission)
    add(StrCat("  ", status.submission->workers, " started by ", status.submission->engine, ", job ",
               status.submission->job, ", from ", Shown(status.submission->host)));
  if (!over)
    for (const WorkerStatus& worker : status.workers) add(ToText(worker));
  for (const auto& [stage, progress] : status.Stages())
    if (!over && progress.left > 0) add(ToText(stage, progress));
  std::size_t hosts = 0;
  for (const HostWork& host : status.work.hosts)
    if (++hosts <= kHosts) add(ToText(host));
  if (hosts > kHosts) add(StrCat("  and ", hosts - kHosts, " more hosts"));
  if (const double share = Utilisation(status.work.hosts); share > 0)
    add(StrCat("  workers spent ", Percent(share, 1), " of their time in units"));
  if (status.view.end) return text;
  for (const OfferedUnit* unit : status.TooLarge())
    add(StrCat("  fits no worker: ", unit->unit, " needs ", HumanBytes(*unit->needs.memory),
               " of memory, and the largest has ", HumanBytes(status.LargestMemory())));
  for (const auto& [unit, attempts] : status.view.failed)
    for (const UnitAttempts::Attempt& attempt : attempts.attempts)
      add(StrCat("  failed: ", WithUnit(attempt.why, unit), ", by ", Shown(attempt.who)));
  return text;
}

Json ToJson(const WorkersStatus& status) {
  Json json;
  json["package"] = status.package;
  json["results"] = status.view.done.size();
  json["offered"] = status.view.package->units.size();
  json["ended"] = status.view.end.has_value();
  if (status.view.end)
    for (const RunEnd::Failure& failure : status.view.end->failures)
      json["failures"].Append(Json::Object{{"unit", failure.unit}, {"why", failure.why}});
  json["utilisation"] = Utilisation(status.work.hosts);
  for (const OfferedUnit* unit : status.TooLarge()) json["too_large"].Append(unit->unit);
  json["units"] = Json(Json::Array{});
  for (const WorkerStatus& worker : status.workers) {
    JsonWriter one;
    one.Written("unit", worker.unit.empty() ? std::string(kPlanningLease) : worker.unit);
    one.Written("who", worker.who).Written("attempt", worker.attempt).Written("second", worker.second);
    one.Written("slow", worker.is_straggler());
    if (worker.age.time.count() > 0) one.Written("since_ms", worker.age.time);
    json["units"].Append(one.Finish());
  }
  json["hosts"] = Json(Json::Array{});
  for (const HostWork& host : status.work.hosts) {
    JsonWriter one;
    one.Written("host", host.host).Written("workers", host.workers).Written("units", host.units);
    one.Written("inside_ms", host.inside_ms).Written("span_ms", host.span_ms).Written("bytes", host.bytes);
    one.Written("twice", host.twice).Written("lost", host.lost).Written("per_minute", host.per_minute);
    json["hosts"].Append(one.Finish());
  }
  json["stages"] = Json(Json::Object{});
  for (const auto& [stage, progress] : status.Stages()) {
    JsonWriter one;
    one.Written("done", progress.done).Written("left", progress.left);
    json["stages"][stage] = one.Written("per_minute", progress.per_minute).Finish();
  }
  return json;
}

std::string LogLine(const WorkersStatus& status, const std::string& engine) {
  std::map<std::string, std::size_t> hosts;
  for (const WorkerStatus& worker : status.workers)
    if (!worker.unit.empty()) ++hosts[HostOf(worker.who)];
  std::string where, slow;
  std::size_t named = 0;
  for (const auto& [host, units] : hosts)
    if (++named <= kHostsInLine) where += StrCat(where.empty() ? " (" : ", ", Shown(host), ": ", units);
  if (named > kHostsInLine) where += StrCat(", and ", named - kHostsInLine, " more hosts");
  if (!where.empty()) where += ")";
  std::size_t stragglers = 0;
  for (const WorkerStatus& worker : status.workers)
    if (worker.is_straggler() && ++stragglers <= kStragglersInLine)
      slow += StrCat(slow.empty() ? ", slow: " : ", ", worker.unit, " (", Shown(worker.who), ")");
  return StrCat(Sums(status, RunningIn(status)), where, slow, "; ", engine);
}

std::vector<std::string> LiveLines(const WorkersStatus& status, const std::string& engine) {
  std::vector<std::string> lines = {engine, Sums(status, RunningIn(status))};
  for (const auto& [stage, progress] : status.Stages()) {
    if (progress.left == 0) continue;
    const std::size_t all = progress.done + progress.left;
    lines.push_back(StrCat("[", stage, "] ", 100 * progress.done / all, "% ", progress.done, " of ", all,
                           " units", Rate(progress.per_minute), Left(progress)));
  }
  std::map<std::string, std::size_t> at_work = status.AtWork();
  std::size_t hosts = 0;
  const auto add_host = [&](const std::string& name, std::size_t running, const HostWork& work) {
    if (++hosts > kHosts) return;
    std::string line = StrCat(Shown(name), ": ", running, " at work, ", Counted(work.units, "unit"), " done",
                              Rate(work.per_minute));
    if (work.lost > 0) line += StrCat(", ", work.lost, " lost");
    lines.push_back(std::move(line));
  };
  for (const HostWork& host : status.work.hosts) {
    const auto running = at_work.find(host.host);
    add_host(host.host, running == at_work.end() ? 0 : running->second, host);
    at_work.erase(host.host);
  }
  for (const auto& [host, running] : at_work) add_host(host, running, {});
  if (hosts > kHosts) lines.push_back(StrCat("and ", hosts - kHosts, " more hosts"));
  std::size_t stragglers = 0;
  for (const WorkerStatus& worker : status.workers)
    if (worker.is_straggler() && ++stragglers <= kStragglers)
      lines.push_back(StrCat(worker.unit, ": ", Shown(worker.who), ", for ",
                             Span(Seconds(worker.age.time.count())), "; ", Slow(worker)));
  return lines;
}

}  // namespace pipeline
