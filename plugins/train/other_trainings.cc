#include "plugins/train/other_trainings.h"

#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "base/str.h"
#include "base/terminal_text.h"
#include "plugins/train/checkpoint_marker.h"
#include "plugins/train/file_facts.h"
#include "plugins/train/run_directory.h"

namespace pipeline {

namespace {

constexpr std::size_t kRecipeDigits = 16;
constexpr std::size_t kShown = 3;         // keys
constexpr std::size_t kMostShown = 200;   // bytes of a value
constexpr std::size_t kMostBeside = 200;  // directories that are looked at

using Values = std::map<std::string, std::string>;

void Flatten(const std::string& name, const Json& value, Values& values) {
  if (!value.is_object()) {
    values[name] = value.Dump();
    return;
  }
  for (const auto& [key, member] : value.AsObject()) Flatten(StrCat(name, ".", key), member, values);
}

/// What decides a recipe, by the names of its keys.
Values ValuesOf(const Json& job_file) {
  Values values;
  for (const char* key : {"config", "external"}) Flatten(key, job_file[key], values);
  values["seed"] = job_file["seed"].Dump();
  for (const auto& [input, lineage] : job_file["lineage"].AsObject())
    values[StrCat("the input `", input, "`")] = lineage["recipe"].Dump();
  return values;
}

/// "key: before -> now" for each key that differs.
std::vector<std::string> Differences(const Values& before, const Values& now) {
  std::vector<std::string> found;
  Values all = before;
  all.insert(now.begin(), now.end());
  for (const auto& [name, ignored] : all) {
    const auto old_value = before.find(name), new_value = now.find(name);
    if (old_value != before.end() && new_value != now.end() && old_value->second == new_value->second)
      continue;
    if (name.starts_with("the input"))
      found.push_back(StrCat(name, " is another"));
    else
      found.push_back(StrCat(name, ": ", old_value == before.end() ? "none" : old_value->second, " -> ",
                             new_value == now.end() ? "none" : new_value->second));
  }
  return found;
}

}  // namespace

std::string TrainingBeside(const std::string& run_dir, const Json& job_file) {
  const std::size_t slash = run_dir.rfind('/');
  if (slash == std::string::npos || run_dir.size() < slash + 1 + kRecipeDigits) return {};
  const std::string parent = run_dir.substr(0, slash), own = run_dir.substr(slash + 1);
  const std::string stage = own.substr(0, own.size() - kRecipeDigits);
  const Values now = ValuesOf(job_file);
  std::optional<std::vector<std::string>> least;
  std::string nearest;
  std::int64_t reached = -1;
  std::size_t looked = 0;
  for (const std::string& name : NamesIn(parent)) {
    if (name == own || !name.starts_with(stage) || name.size() != own.size() || ++looked > kMostBeside)
      continue;
    const std::string place = StrCat(parent, "/", name);
    const std::set<std::int64_t> steps = StepsBelow(place + "/checkpoints");
    const Json before = ReadJsonFile(place + "/job.json");
    if (steps.empty() || !before.is_object()) continue;
    std::vector<std::string> differences = Differences(ValuesOf(before), now);
    if (least && least->size() <= differences.size()) continue;
    least = std::move(differences);
    nearest = name;
    reached = *steps.rbegin();
  }
  if (!least || least->empty()) return {};
  std::string shown;
  for (std::size_t at = 0; at < least->size() && at < kShown; ++at)
    shown += StrCat(at == 0 ? "" : ", ", Readable((*least)[at], kMostShown));
  if (least->size() > kShown) shown += StrCat(" and ", least->size() - kShown, " more");
  return StrCat("a new training begins, by another recipe than ", nearest, " (", shown,
                "), which stays as it is with checkpoints up to step ", reached);
}

}  // namespace pipeline
