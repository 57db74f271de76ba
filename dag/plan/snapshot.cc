#include "dag/plan/snapshot.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/json.h"
#include "base/str.h"
#include "dag/books/unit_id.h"
#include "dag/location/own_objects.h"
#include "dag/pipeline_file/pipeline_file.h"
#include "dag/pipeline_file/stage_type.h"
#include "dag/plan/inputs.h"
#include "dag/plan/lineages.h"
#include "dag/plan/stored_outputs.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

/// Returns the files that the configuration names, as far as they are known; sets `missing` if some are not
/// there.
std::vector<LocalInput> NamedBy(const FileListKind& list, const Json& config, Status& missing) {
  Result<std::vector<LocalInput>> named = list.local_inputs(config);
  if (named.ok()) return std::move(*named);
  missing = std::move(named).status();
  const auto* const wanted = missing.Detail<WantedFiles>();
  return wanted == nullptr ? std::vector<LocalInput>() : wanted->wanted;
}

/// Hashes the existing files even if others are missing, because an existing file may have changed.
Snapshot::Files FilesOf(const FileListKind& list, const Json& config, const HashFile& hash,
                        const FindFiles& find, Status& interrupted) {
  Snapshot::Files files;
  bool asks = true;  // a server that is down is waited for once
  const auto note = [&](const Status& why) {
    if (why.code() == Code::kCancelled) interrupted = why;
    if (why.code() == Code::kUnavailable) asks = false;
    // A file that is there and wrong is worse than one that is gone.
    if (files.missing.ok() || (MayBeGone(files.missing) && !MayBeGone(why))) files.missing = why;
  };
  const auto look = [&](const LocalInput& input) {
    Snapshot::Files::Wanted& wanted = files.wanted.emplace_back();
    wanted.name = input.name;
    if (!asks && IsRemote(input.path)) return;
    Result<SourceFile> file = hash(input);
    if (!file.ok()) {
      if (const auto* const pinned = file.status().Detail<PinnedDigest>()) wanted.digest = pinned->digest;
      return note(file.status());
    }
    wanted.digest = file->digest;
    files.files.push_back(std::move(*file));
  };
  for (const LocalInput& input : NamedBy(list, config, files.missing)) {
    if (!interrupted.ok()) break;
    if (!input.is_pattern) {
      look(input);
      continue;
    }
    Result<std::vector<LocalInput>> found = std::vector<LocalInput>();
    if (IsRemote(input.path) && asks) found = find(input);
    if (!found.ok()) note(found.status());
    if (!found.ok() || found->empty()) files.wanted.push_back({input.name, true, {}});
    for (std::size_t at = 0; found.ok() && at < found->size() && interrupted.ok(); ++at) look((*found)[at]);
  }
  if (files.missing.ok())
    files.wanted.clear();
  else
    files.files.clear();
  return files;
}

std::string LastPartOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// Of a single file, its own digest. The place of the files does not count, their names do.
Digest DigestOfFiles(const std::vector<SourceFile>& files) {
  if (files.size() == 1) return files.front().digest;
  Hasher hasher;
  hasher.UpdateField("pipe files v1");
  for (const SourceFile& file : files)
    hasher.UpdateField(LastPartOf(file.input.path)).UpdateU64(file.digest.high).UpdateU64(file.digest.low);
  return hasher.Finish();
}

/// The digests of the files at the named inputs of `node`, and of those that its type names.
Result<std::vector<Snapshot::SideFile>> SideFilesOf(const Node& node, const HashFile& hash) {
  std::vector<Snapshot::SideFile> side_files;
  const auto add = [&](Snapshot::SideFile file, const std::vector<std::string>& paths) -> Status {
    file.file = LastPartOf(paths.front());
    for (const std::string& path : paths) {
      Result<SourceFile> hashed = hash({path, file.name});
      if (hashed.status().code() == Code::kCancelled) return std::move(hashed).status();
      if (!hashed.ok()) {
        file.missing = std::move(hashed).status();
        break;
      }
      file.found.push_back(std::move(*hashed));
    }
    if (file.missing.ok()) file.digest = DigestOfFiles(file.found);
    side_files.push_back(std::move(file));
    return {};
  };
  for (const NamedInputEdge& edge : node.named_inputs) {
    if (edge.node) continue;
    const Result<std::vector<std::string>> paths = edge.Files();
    if (paths.ok())
      RETURN_IF_ERROR(add({edge.name, {}, {}, true, false, {}, {}}, *paths));
    else
      side_files.push_back({edge.name, LastPartOf(edge.file), {}, true, false, paths.status(), {}});
  }
  if (!node.spec->type->files) return side_files;
  const Result<std::vector<StageFile>> files = node.spec->type->files(node.spec->config);
  if (!files.ok()) {
    side_files.push_back({"files", {}, {}, false, true, files.status(), {}});
    return side_files;
  }
  for (const StageFile& file : *files)
    RETURN_IF_ERROR(add({file.name, {}, {}, false, file.of_machine, {}, {}}, {file.path}));
  return side_files;
}

/// The lineage and the location that the log's newest line of `stage` names.
struct LastLogged {
  const SegmentLine* segment = nullptr;
  std::string location;
};

/// True for lines whose location is that of an artifact.
bool IsOfArtifact(const UnitLine& line) {
  const std::optional<UnitId> unit = ParseUnitId(line.unit);
  return unit && (std::holds_alternative<ShardId>(unit->part) || std::holds_alternative<JobId>(unit->part));
}

LastLogged LastOf(const RunLog& log, const std::string& stage) {
  const std::string prefix = stage + "/";
  std::pair<std::uint32_t, std::string> newest;                    // segment and unit
  std::vector<std::pair<std::uint32_t, std::string>> not_outputs;  // names of outputs begin with a digit
  log.ForEach(prefix, [&](std::string_view unit, std::uint32_t segment) {
    if (segment > newest.first) newest = {segment, std::string(unit)};
    const char first = unit.size() > prefix.size() ? unit[prefix.size()] : '0';
    if (first < '0' || first > '9') not_outputs.emplace_back(segment, unit);
  });
  LastLogged last;
  // A line that cannot be decoded counts for nothing, and neither does the number of its segment.
  if (newest.first > 0 && log.Find(newest.second) != nullptr) last.segment = log.FindSegment(newest.first);
  std::sort(not_outputs.begin(), not_outputs.end());
  for (auto unit = not_outputs.rbegin(); unit != not_outputs.rend() && last.location.empty(); ++unit) {
    const UnitLine* const line = log.Find(unit->second);
    if (line != nullptr && IsOfArtifact(*line)) last.location = line->location;
  }
  return last;
}

void AddRecipes(const Lineage& lineage, std::set<Digest>& recipes) {
  for (const LineageStage& stage : lineage) {
    recipes.insert(stage.recipe);
    for (const LineageInput& named_input : stage.named_inputs) AddRecipes(named_input.lineage, recipes);
  }
}

/// Adds the recipes of everything that was begun or finished earlier.
void CollectRecipes(const RunLog& log, Snapshot& snapshot) {
  for (const std::string& text : log.Lineages()) {
    const Result<Json> json = Json::Parse(text);
    if (!json.ok()) continue;  // such a line counts for nothing
    if (const Result<Lineage> lineage = LineageFromJson(*json); lineage.ok())
      AddRecipes(*lineage, snapshot.recipes);
  }
  for (const auto& [stage, published] : snapshot.published) {
    if (published.manifest) AddRecipes(published.manifest->lineage, snapshot.recipes);
    if (const std::optional<Digest> marked = Digest::FromHex(published.marker_recipe))
      snapshot.recipes.insert(*marked);
  }
  for (const auto& [stage, elsewhere] : snapshot.elsewhere)
    AddRecipes(elsewhere.manifest.lineage, snapshot.recipes);
}

}  // namespace

Result<Snapshot> CollectSnapshot(const Graph& graph, const Environment& environment, const HashFile& hash,
                                 const FindFiles& find) {
  Snapshot snapshot;
  for (const NodeId number : graph.nodes().ids()) {
    const Node& node = graph[number];
    const StageSpec& spec = *node.spec;
    if (const FileListKind* list = spec.type->file_list()) {
      Status interrupted;
      snapshot.files.emplace(spec.name, FilesOf(*list, spec.config, hash, find, interrupted));
      RETURN_IF_ERROR(interrupted);
      continue;
    }
    ASSIGN_OR_RETURN(std::vector<Snapshot::SideFile> side_files, SideFilesOf(node, hash));
    if (!side_files.empty()) snapshot.side_files.emplace(spec.name, std::move(side_files));
    LastLogged last = LastOf(*environment.log, spec.name);
    if (last.segment == nullptr && spec.type->barrier() != nullptr)
      last = LastOf(*environment.log, StrCat(spec.name, kTakesInSuffix));
    if (last.segment != nullptr) {
      ASSIGN_OR_RETURN(const Json json, Json::Parse(last.segment->lineage));
      ASSIGN_OR_RETURN(Lineage lineage, LineageFromJson(json));
      snapshot.logged.emplace(spec.name, std::move(lineage));
      if (last.segment->began > 0) snapshot.logged_when.emplace(spec.name, last.segment->began);
    }
    if (spec.type->job() != nullptr)
      if (const UnitLine* job = environment.log->FindDone(ToString(UnitId{spec.name, JobId{}})))
        snapshot.jobs[spec.name] = {job->recipe, job->continues};
    if (!spec.type->publishes()) continue;
    const std::string location = LocationOfStage(spec);
    Snapshot::Published published;
    if (!location.empty()) {
      ASSIGN_OR_RETURN(published, PublishedAt(environment, location, spec.name, NameTestsOf(graph, number)));
    }
    if (!published.manifest && !last.location.empty() && last.location != location) {
      // An older location that cannot be read is no reason to stop: it was only a chance to save work.
      const Result<Snapshot::Published> before = PublishedAt(environment, last.location);
      if (before.ok() && before->manifest && before->whole)
        snapshot.elsewhere.emplace(spec.name, Snapshot::Elsewhere{last.location, *before->manifest});
    }
    if (!location.empty()) snapshot.published.emplace(spec.name, std::move(published));
  }
  const std::string whole = ToString(UnitId{"", JobId{}});
  for (const std::string& unit : environment.log->FailedUnits(""))
    if (unit.ends_with(whole)) snapshot.refused.insert(unit.substr(0, unit.size() - whole.size()));
  CollectRecipes(*environment.log, snapshot);
  return snapshot;
}

}  // namespace pipeline
