#include "cli/report/run_before.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>

#include "base/str.h"
#include "cli/report/run_recorder.h"

namespace pipeline {

namespace {

constexpr std::size_t kDifferenceBytes = 200;

std::string Shown(const Json& value) {
  std::string text = value.is_string() ? std::string(value.AsString()) : value.Dump();
  if (text.size() <= kDifferenceBytes) return text;
  std::size_t end = kDifferenceBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

void Differ(const std::string& what, const std::string& old_value, const std::string& new_value,
            std::vector<std::string>& found) {
  if (old_value == new_value) return;
  found.push_back(StrCat(what, ": ", old_value.empty() ? "(none)" : old_value, " -> ",
                         new_value.empty() ? "(none)" : new_value));
}

template <class Map>
void DifferMaps(const std::string& what, const Map& before, const Map& now, std::vector<std::string>& found) {
  for (const auto& [name, value] : now) {
    const auto old = before.find(name);
    Differ(StrCat(what, name), old == before.end() ? std::string() : old->second, value, found);
  }
  for (const auto& [name, value] : before)
    if (now.find(name) == now.end()) Differ(StrCat(what, name), value, {}, found);
}

std::map<std::string, std::string> ConfigOf(const RecordedStage& stage) {
  std::map<std::string, std::string> config;
  for (const auto& [name, value] : stage.config.AsObject()) config.emplace(name, Shown(value));
  return config;
}

std::map<std::string, std::string> SourcesOf(const RecordedStage& stage) {
  return {stage.sources.begin(), stage.sources.end()};
}

void DifferStages(const RecordedStage& before, const RecordedStage& now, std::vector<std::string>& found) {
  const std::string at = StrCat(now.name, ": ");
  Differ(at + "type", before.type, now.type, found);
  if (before.config.is_null() || now.config.is_null()) return;
  Differ(at + "version of the type", StrCat(before.version), StrCat(now.version), found);
  DifferMaps(at, ConfigOf(before), ConfigOf(now), found);
  DifferMaps(at + "library ", before.libraries, now.libraries, found);
  DifferMaps(at + "source ", SourcesOf(before), SourcesOf(now), found);
}

}  // namespace

std::vector<std::string> DifferencesOf(const RunRecord& before, const RunRecord& now) {
  std::vector<std::string> found;
  Differ("pipe", before.begin.version, now.begin.version, found);
  std::map<std::string_view, const RecordedStage*> old;
  for (const RecordedStage& stage : before.stages) old.emplace(stage.name, &stage);
  for (const RecordedStage& stage : now.stages) {
    const auto same = old.find(stage.name);
    if (same == old.end()) {
      found.push_back(StrCat(stage.name, ": stage added"));
      continue;
    }
    DifferStages(*same->second, stage, found);
    old.erase(same);
  }
  for (const RecordedStage& stage : before.stages)
    if (old.contains(stage.name)) found.push_back(StrCat(stage.name, ": stage removed"));
  return found;
}

std::optional<RunBefore> FindRunBefore(const WorkDir& work, const RunLog& log, const std::string& id,
                                       const RunRecord& now) {
  std::vector<RunLine> runs = log.Runs();
  const auto self = std::find_if(runs.begin(), runs.end(), [&](const RunLine& run) { return run.id == id; });
  for (auto run = std::make_reverse_iterator(self); run != runs.rend(); ++run) {
    const Result<RunRecord> record = ReadRecord(work, run->id);
    if (!record.ok()) continue;
    RunBefore before;
    before.id = run->id;
    before.command = run->command;
    before.outcome = run->outcome;
    before.started = run->started;
    if (record->end) before.duration = record->end->at, before.peak_rss = record->end->peak_rss;
    if (!record->moments.empty()) before.cpu = record->moments.back().cpu;
    std::error_code none;
    before.has_page = std::filesystem::exists(StrCat(work.run(run->id), "/report.html"), none);
    before.differences = DifferencesOf(*record, now);
    return before;
  }
  return std::nullopt;
}

}  // namespace pipeline
