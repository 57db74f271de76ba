#include "plugins/train/other_trainings.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/str.h"
#include "base/terminal_text.h"
#include "plugins/train/checkpoint_marker.h"
#include "plugins/train/file_facts.h"
#include "plugins/train/object_files.h"
#include "plugins/train/run_directory.h"
#include "plugins/train/train_job.h"

namespace pipeline {

namespace {

constexpr std::size_t kRecipeDigits = 16;
constexpr std::size_t kShown = 3;         // keys
constexpr std::size_t kMostShown = 200;   // bytes of a value
constexpr std::size_t kMostBeside = 200;  // directories that are looked at
constexpr std::string_view kOfExport = "config.export.";

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
  // A file has no lineage.
  for (const auto& [input, told] : {std::pair("tokenizer", job_file["tokenizer"]["digest"].Dump()),
                                    std::pair("init_from", job_file["init_from"].Dump())})
    if (!job_file["lineage"].Has(input) && told != "null")
      values.emplace(StrCat("the input `", input, "`"), told);
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

/// The directory of a run, PARENT/STAGE-RECIPE16.
struct RunPlace {
  std::string parent, own;
  /// True for another run of the stage.
  bool IsBeside(std::string_view name) const {
    return name != own && name.size() == own.size() &&
           name.starts_with(std::string_view(own).substr(0, own.size() - kRecipeDigits));
  }
};
/// Absent: `uri` has another form.
std::optional<RunPlace> PlaceOf(const std::string& uri) {
  const std::size_t slash = uri.rfind('/');
  if (slash == std::string::npos || uri.size() < slash + 1 + kRecipeDigits) return std::nullopt;
  return RunPlace{uri.substr(0, slash), uri.substr(slash + 1)};
}

/// The first keys that differ, in one line.
std::string Shown(const std::vector<std::string>& differences) {
  std::string shown;
  for (std::size_t at = 0; at < differences.size() && at < kShown; ++at)
    shown += StrCat(at == 0 ? "" : ", ", Readable(differences[at], kMostShown));
  if (differences.size() > kShown) shown += StrCat(" and ", differences.size() - kShown, " more");
  return shown;
}

/// The names of the other runs of the stage.
Result<std::vector<std::string>> RunsBeside(const RunPlace& place, const PluginStorage& storage) {
  std::vector<std::string> names;
  if (!IsElsewhere(place.parent)) {
    names = NamesIn(place.parent);
  } else {
    ASSIGN_OR_RETURN(const std::vector<PluginStorage::Object> objects, storage.List(place.parent));
    for (const PluginStorage::Object& object : objects)
      if (const std::size_t slash = object.name.find('/'); object.name.substr(slash + 1) == "job.json")
        names.push_back(object.name.substr(0, slash));
  }
  std::erase_if(names, [&](const std::string& name) { return !place.IsBeside(name); });
  return names;
}

}  // namespace

Result<std::optional<FinishedTraining>> TrainingToExport(const std::string& run_uri, const Json& job_file,
                                                         const PluginStorage& storage) {
  std::optional<FinishedTraining> found;
  const std::optional<RunPlace> own = PlaceOf(run_uri);
  // The bytes of a file to begin with are in the recipe alone, which nobody compares here.
  const bool from_file = job_file.Has("init_from") && !job_file["lineage"].Has("init_from");
  if (!own || from_file) return found;
  const Values now = ValuesOf(job_file);
  ASSIGN_OR_RETURN(const std::vector<std::string> names, RunsBeside(*own, storage));
  for (std::size_t at = 0; at < std::min(names.size(), kMostBeside); ++at) {
    const std::string uri = StrCat(own->parent, "/", names[at]);
    // A directory of somebody else may be unreadable.
    const Result<Json> job = ReadJson(storage, uri + "/job.json");
    const Json before = job.ok() ? *job : Json();
    if (!before.is_object()) continue;
    const std::vector<std::string> differences = Differences(ValuesOf(before), now);
    const bool of_export = !differences.empty() && std::all_of(differences.begin(), differences.end(),
                                                               [](const std::string& difference) {
                                                                 return difference.starts_with(kOfExport);
                                                               });
    if (!of_export) continue;
    const Result<Json> result = ReadJson(storage, uri + "/result.json");
    const std::int64_t steps = result.ok() ? (*result)["steps"].AsInt(-1) : -1;
    if (steps < job_file["steps"].AsInt() || (found && steps >= found->steps)) continue;
    found = FinishedTraining{uri, steps, Shown(differences)};
  }
  return found;
}

std::string TrainingBeside(const std::string& run_dir, const Json& job_file) {
  const std::optional<RunPlace> own = PlaceOf(run_dir);
  if (!own) return {};
  const Values now = ValuesOf(job_file);
  std::optional<std::vector<std::string>> least;
  std::string nearest;
  std::int64_t reached = -1;
  std::size_t looked = 0;
  for (const std::string& name : NamesIn(own->parent)) {
    if (!own->IsBeside(name) || ++looked > kMostBeside) continue;
    const std::string place = StrCat(own->parent, "/", name);
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
  return StrCat("a new training begins, by another recipe than ", nearest, " (", Shown(*least),
                "), which stays as it is with checkpoints up to step ", reached);
}

}  // namespace pipeline
