#include "dag/package/work_history.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "base/digest.h"
#include "base/json.h"
#include "base/str.h"
#include "base/utf8.h"
#include "dag/package/versioned_json.h"
#include "storage/store.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kMaxHistoryBytes = 64 << 20;
constexpr std::size_t kMostName = 200;                   // bytes of a name
constexpr std::int64_t kLastTime = 253'402'300'799'999;  // the end of the year 9999

WorkHistory Bounded(WorkHistory history) {
  const auto cut = [](std::string& name) { name.resize(Utf8Front(name, kMostName).size()); };
  const auto bound = [](std::int64_t& number, std::int64_t most) {
    number = std::clamp<std::int64_t>(number, 0, most);
  };
  for (WorkHistory::Entry& entry : history.results) {
    for (std::string* name : {&entry.unit, &entry.who}) cut(*name);
    bound(entry.began, kLastTime);
    bound(entry.took_ms, kLongestUnit);
  }
  for (WorkHistory::Loss& loss : history.lost) {
    for (std::string* name : {&loss.unit, &loss.who, &loss.by}) cut(*name);
    bound(loss.began, kLastTime);
  }
  return history;
}

std::string PrefixOf(std::string_view run) { return StrCat(kHistoryPrefix, run, "/"); }

}  // namespace

void WorkHistory::Add(const WorkHistory& more) {
  results.insert(results.end(), more.results.begin(), more.results.end());
  lost.insert(lost.end(), more.lost.begin(), more.lost.end());
}

template <class Fields, Of<WorkHistory::Entry> T>
void ListFields(Fields& fields, T& entry) {
  fields.Required("unit", entry.unit).Required("who", entry.who).Loose("began", entry.began);
  fields.Loose("took_ms", entry.took_ms).Loose("bytes", entry.bytes).Loose("records", entry.records);
}

template <class Fields, Of<WorkHistory::Loss> T>
void ListFields(Fields& fields, T& loss) {
  fields.Required("unit", loss.unit).Required("who", loss.who).Required("by", loss.by);
  fields.Loose("began", loss.began);
}

template <class Fields, Of<WorkHistory> T>
void ListFields(Fields& fields, T& history) {
  fields.Required("results", history.results).Required("lost", history.lost);
}

std::string EncodeWorkHistory(const WorkHistory& history) { return EncodeVersioned(Bounded(history)); }

Result<WorkHistory> ParseWorkHistory(std::string_view text) {
  ASSIGN_OR_RETURN(WorkHistory history, ParseVersioned<WorkHistory>(text));
  return Bounded(std::move(history));
}

Status WriteHistory(Store& package, std::string_view run, const WorkHistory& history) {
  if (run.empty() || history.empty()) return {};
  const std::string text = EncodeWorkHistory(history);
  const Status written = WriteObject(package, StrCat(PrefixOf(run), DigestOf(text).ToHex(), ".json"), text,
                                     Condition::CreateOnly())
                             .status();
  return written.code() == Code::kAlreadyExists ? Status() : written;
}

Result<WorkHistory> ReadHistory(Store& package, const std::vector<ObjectInfo>& objects,
                                std::vector<std::string>& unreadable, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(
      const ReadObjects<WorkHistory> read,
      ReadEach<WorkHistory>(package, objects, kMaxHistoryBytes, stop,
                            [](std::string_view text, std::string_view) { return ParseWorkHistory(text); }));
  WorkHistory history;
  for (std::size_t at = 0; at < objects.size(); ++at) {
    if (read[at] && read[at]->ok()) history.Add(**read[at]);
    if (read[at] && !read[at]->ok()) unreadable.push_back(objects[at].name);
  }
  return history;
}

Status RemoveOtherHistory(Store& package, std::string_view run) {
  ASSIGN_OR_RETURN(std::vector<ObjectInfo> objects, package.List(kHistoryPrefix));
  std::erase_if(objects, [&run](const ObjectInfo& object) { return object.name.starts_with(PrefixOf(run)); });
  return RemoveObjects(package, objects);
}

namespace {

constexpr std::int64_t kWindow = std::int64_t{10} * 60 * 1000;  // of a rate, in milliseconds
constexpr std::int64_t kLeastSpan = 1000;

std::int64_t EndOf(const UnitTurn& turn) { return turn.began + turn.took_ms; }

using TurnKey = std::tuple<std::string, std::int64_t, std::string>;  // worker, begin, unit if that is unknown

TurnKey TurnOf(const WorkHistory::Entry& entry) {
  return {entry.who, entry.began, entry.began > 0 ? std::string() : entry.unit};
}

/// Returns the units that were run. A unit that reads a whole input stores a result for each partition.
std::vector<UnitTurn> TurnsOf(const std::set<WorkHistory::Entry>& results) {
  std::map<TurnKey, UnitTurn> turns;
  for (const WorkHistory::Entry& entry : results) {
    const auto [found, is_new] = turns.try_emplace(TurnOf(entry), entry);
    if (is_new) continue;
    UnitTurn& turn = found->second;
    if (entry.took_ms > turn.took_ms) turn.unit = entry.unit, turn.took_ms = entry.took_ms;
    turn.bytes += entry.bytes;
    turn.records += entry.records;
  }
  std::vector<UnitTurn> sorted;
  for (auto& [key, turn] : turns) sorted.push_back(std::move(turn));
  return sorted;
}

/// Returns the units per minute of one host. `turns` is not empty.
double PerMinute(const std::vector<const UnitTurn*>& turns) {
  std::int64_t last = 0;
  for (const UnitTurn* turn : turns) last = std::max(last, EndOf(*turn));
  std::int64_t first = last;
  double units = 0;
  for (const UnitTurn* turn : turns) {
    if (turn->began == 0 || EndOf(*turn) < last - kWindow) continue;
    first = std::min(first, turn->began);
    ++units;
  }
  return 60'000 * units / static_cast<double>(std::max(last - first, kLeastSpan));
}

/// Fills in everything that the units of one host tell.
void Sum(const std::vector<const UnitTurn*>& turns, HostWork& host) {
  std::map<std::string_view, std::pair<std::int64_t, std::int64_t>>
      workers;  // by name: first begin, last end
  std::map<std::string_view, std::vector<const UnitTurn*>> stages;
  std::int64_t first = 0, last = 0;
  for (const UnitTurn* turn : turns) {
    ++host.units;
    host.inside_ms += turn->took_ms;
    host.bytes += turn->bytes;
    stages[StageOfUnit(turn->unit)].push_back(turn);
    const auto [worker, is_new] = workers.try_emplace(turn->who, turn->began, EndOf(*turn));
    if (turn->began == 0) continue;
    auto& [begin, end] = worker->second;
    begin = begin == 0 ? turn->began : std::min(begin, turn->began);
    end = std::max(end, EndOf(*turn));
    first = first == 0 ? turn->began : std::min(first, turn->began);
    last = std::max(last, end);
  }
  host.workers = workers.size();
  host.span_ms = last - first;
  std::vector<std::pair<std::int64_t, int>> changes;  // of the number of workers; an end comes before a begin
  for (const auto& [who, span] : workers) {
    if (span.first == 0) continue;
    changes.emplace_back(span.first, 1);
    changes.emplace_back(std::max(span.second, span.first + 1), -1);
  }
  std::sort(changes.begin(), changes.end());
  int now = 0;
  for (const auto& [at, change] : changes) {
    now += change;
    host.at_once = std::max(host.at_once, static_cast<std::size_t>(std::max(now, 0)));
  }
  host.per_minute = PerMinute(turns);
  for (const auto& [stage, some] : stages) host.stage_per_minute.emplace(stage, PerMinute(some));
}

/// Returns by host the units with a result that another worker had stored before, by the clocks of both.
std::map<std::string, std::size_t> TwiceOf(const std::set<WorkHistory::Entry>& results) {
  std::set<TurnKey> turns;
  for (auto at = results.begin(); at != results.end();) {
    std::vector<const WorkHistory::Entry*> same;
    for (const std::string& unit = at->unit; at != results.end() && at->unit == unit; ++at)
      same.push_back(&*at);
    std::stable_sort(same.begin(), same.end(), [](const WorkHistory::Entry* a, const WorkHistory::Entry* b) {
      return a->began + a->took_ms < b->began + b->took_ms;
    });
    for (std::size_t second = 1; second < same.size(); ++second) turns.insert(TurnOf(*same[second]));
  }
  std::map<std::string, std::size_t> twice;
  for (const TurnKey& turn : turns) ++twice[HostOf(std::get<0>(turn))];
  return twice;
}

}  // namespace

std::string HostOf(std::string_view who) { return std::string(who.substr(0, who.find(", process "))); }

std::string_view StageOfUnit(std::string_view unit) { return unit.substr(0, unit.find('/')); }

WorkSummary Summarise(const WorkHistory& history) {
  const std::set<WorkHistory::Entry> results(history.results.begin(), history.results.end());
  WorkSummary summary;
  summary.turns = TurnsOf(results);
  std::map<std::string, HostWork> hosts;
  std::map<std::string, std::vector<const UnitTurn*>> turns;
  for (const UnitTurn& turn : summary.turns) turns[HostOf(turn.who)].push_back(&turn);
  for (const auto& [host, some] : turns) Sum(some, hosts[host]);
  for (const auto& [host, number] : TwiceOf(results)) hosts[host].twice = number;
  for (const WorkHistory::Loss& loss : std::set(history.lost.begin(), history.lost.end()))
    ++hosts[HostOf(loss.who)].lost;
  for (auto& [name, host] : hosts) {
    host.host = name;
    summary.hosts.push_back(std::move(host));
  }
  return summary;
}

double Utilisation(const std::vector<HostWork>& hosts) {
  double inside = 0, slots = 0, wall = 0;
  for (const HostWork& host : hosts) {
    inside += static_cast<double>(host.inside_ms);
    slots += static_cast<double>(host.at_once);
    wall = std::max(wall, static_cast<double>(host.span_ms));
  }
  return slots * wall > 0 ? std::min(inside / (slots * wall), 1.0) : 0;
}

}  // namespace pipeline
