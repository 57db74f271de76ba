#include "cli/report/stage_state.h"

#include <algorithm>
#include <string_view>

#include "base/str.h"

namespace pipeline {

namespace {

constexpr std::size_t kReadFailures = 200;  // of a segment, in which names of stages are searched

/// Records of earlier versions have it only in a note.
bool IsComplete(const RunRecord& record, const std::string& segment) {
  if (record.completed.contains(segment)) return true;
  if (!record.reached.empty()) return false;
  const std::string complete = StrCat("stage '", segment, "' is complete");
  const std::string published = StrCat("stage '", segment, "' published ");
  return std::any_of(record.notes.begin(), record.notes.end(), [&](const RecordedNote& note) {
    return note.text == complete || note.text.starts_with(published);
  });
}

bool IsReached(const RunRecord& record, const std::string& segment) {
  if (record.reached.contains(segment)) return true;
  const auto of_it = [&](const auto& entry) { return StageOfUnit(entry.unit) == segment; };
  return std::any_of(record.units.begin(), record.units.end(), of_it) ||
         std::any_of(record.logged.begin(), record.logged.end(), of_it);
}

/// The message of a unit with several stages names the stage that failed.
bool NamesStage(std::string_view why, const RecordedStage& stage) {
  return why.find(StrCat("stage '", stage.name, "'")) != std::string_view::npos;
}

}  // namespace

std::string StateOf(const RunRecord& record, const RecordedStage& stage) {
  if (stage.state != "run" && stage.state != "copy") return stage.state;
  const std::string& segment = stage.segment.empty() ? stage.name : stage.segment;
  if (record.end) {
    bool failed = false, named = false, names_this = false;
    std::size_t read = 0;
    for (const auto& [unit, why] : record.end->failures) {
      if (StageOfUnit(unit) != segment) continue;
      failed = true;
      if (++read > kReadFailures) break;
      names_this = names_this || NamesStage(why, stage);
      for (const RecordedStage& other : record.stages)
        named = named ||
                ((other.segment.empty() ? other.name : other.segment) == segment && NamesStage(why, other));
    }
    if (failed) return names_this || (!named && stage.name == segment) ? "failed" : "stopped";
  }
  if (IsComplete(record, segment)) return stage.state == "copy" ? "copied" : "done";
  if (!IsReached(record, segment)) return "not reached";
  if (!record.end) return record.alive ? "running" : "killed";
  return record.end->outcome == "done" ? (stage.state == "copy" ? "copied" : "done") : "stopped";
}

}  // namespace pipeline
