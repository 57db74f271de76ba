#include "dag/plan/lineages.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/str.h"
#include "dag/keys.h"
#include "dag/pipeline_file/reading_rules.h"
#include "dag/pipeline_file/stage_type.h"

namespace pipeline {

namespace {

/// Returns whether the same named inputs had files with the same names, as far as that was recorded.
bool HadTheSameSideFiles(const LineageStage& old, const std::vector<Snapshot::SideFile>& side_files) {
  return std::all_of(side_files.begin(), side_files.end(), [&old](const Snapshot::SideFile& file) {
    if (!file.at_named_input) return true;
    return std::any_of(
        old.named_inputs.begin(), old.named_inputs.end(), [&file](const LineageInput& named_input) {
          return named_input.name == file.name && (named_input.file.empty() || named_input.file == file.file);
        });
  });
}

/// Returns the recorded digest of the file. Empty: none is recorded.
RecordedFiles RecordedSideFile(const LineageStage& old, const Snapshot::SideFile& file) {
  RecordedFiles then;
  for (const LineageInput& named_input : old.named_inputs)
    if (file.at_named_input && named_input.name == file.name)
      then.push_back({file.file, named_input.digest.ToHex()});
  for (const auto& [name, digest] : old.sources)
    if (!file.at_named_input && name == file.name) then.push_back({file.file, digest});
  return then;
}

/// Returns the first stage with the same name, type and configuration for which `fits` holds. Null: there is
/// none.
const LineageStage* FindIn(const Lineage& lineage, const LineageStage& stage,
                           const std::function<bool(const LineageStage&)>& fits) {
  for (const LineageStage& old : lineage) {
    if (old.stage == stage.stage && old.type == stage.type && old.config == stage.config && fits(old))
      return &old;
    for (const LineageInput& named_input : old.named_inputs)
      if (const LineageStage* found = FindIn(named_input.lineage, stage, fits)) return found;
  }
  return nullptr;
}

}  // namespace

Lineages::Lineages(const Graph& graph, const Snapshot& snapshot, const Selection& selection)
    : graph_(graph),
      snapshot_(snapshot),
      selection_(selection),
      needed_(NeededNodes(graph, selection)),
      unknown_(graph.nodes().size()) {
  for (const NodeId node : graph.nodes().ids()) Compute(node);
}

void Lineages::Compute(NodeId node) {
  const StageSpec& spec = *At(node).spec;
  Lineage lineage;
  std::optional<Digest> input;
  std::vector<std::string> files;  // the files that the stage reads
  if (const std::optional<NodeId> before = At(node).input) {
    lineage = Of(*before);
    input = lineage.back().recipe;
    unknown_[node] = unknown(*before);
    for (const auto& [name, digest] : lineage.back().sources) files.push_back(name);
  }
  LineageStage stage;
  stage.stage = spec.name;
  stage.type = std::string(spec.type->name);
  stage.version = spec.type->version;
  stage.config = CanonicalConfig(spec.type->keys, spec.config);
  stage.libraries = spec.type->LibrariesOf(spec.config);
  if (spec.type->file_list() != nullptr) stage.sources = SourcesOf(node, stage);
  if (const SourceKind* source = spec.type->source(); source != nullptr && source->taken_from_names) {
    const std::vector<std::string> taken = source->taken_from_names(spec.config, files);
    for (std::size_t at = 0; at < taken.size(); ++at)
      stage.sources.push_back({StrCat(kTakenFromName, files[at]), taken[at]});
  }
  AddSideInputs(node, stage);
  stage.recipe = RecipeOf(stage, input);
  lineage.push_back(std::move(stage));
  TakeReused(node, lineage);
  lineages_.push_back(std::move(lineage));
}

std::string Lineages::OtherVersions(NodeId node) const {
  const auto found = other_versions_.find(node);
  return found == other_versions_.end() ? std::string() : found->second;
}

/// Replaces `lineage` by that of the artifact that is there, if they differ in versions of libraries alone
/// and the artifact is reused. Its readers then name the versions that really made it, and their finished
/// units stay done.
void Lineages::TakeReused(NodeId node, Lineage& lineage) {
  const auto found = snapshot_.published.find(At(node).spec->name);
  if (found == snapshot_.published.end() || selection_.strict || !unknown_[node].ok()) return;
  const Snapshot::Published& there = found->second;
  if (!there.manifest || !there.whole || !there.damaged.ok() || IsForced(graph_, selection_, node)) return;
  const std::vector<Difference> differences = Compare(there.manifest->lineage, lineage);
  const bool machine_only = std::all_of(differences.begin(), differences.end(),
                                        [](const Difference& one) { return one.of_machine; });
  if (differences.empty() || !machine_only) return;
  other_versions_.insert_or_assign(node, Summary(differences));
  lineage = there.manifest->lineage;
}

/// Returns the same stage as an earlier run recorded it. Null: none did. If an artifact is only read, its
/// manifest counts, whatever the names of its sources are.
const LineageStage* Lineages::Recorded(NodeId node, const LineageStage& stage, const Fits& fits) const {
  const auto find = [&](const Fits& which) -> const LineageStage* {
    for (const auto& [name, published] : snapshot_.published)
      if (published.manifest)
        if (const LineageStage* found = FindIn(published.manifest->lineage, stage, which)) return found;
    return nullptr;
  };
  if (const LineageStage* found = find(fits)) return found;
  for (const auto& [name, lineage] : snapshot_.logged)
    if (const LineageStage* found = FindIn(lineage, stage, fits)) return found;
  return needed_.contains(node) ? nullptr : find([](const LineageStage&) { return true; });
}

/// Returns when the log first recorded the same sources. 0: unknown.
std::int64_t Lineages::WhenRecorded(const LineageStage& old) const {
  const auto same = [&old](const LineageStage& other) { return other.sources == old.sources; };
  for (const auto& [name, when] : snapshot_.logged_when)
    if (FindIn(snapshot_.logged.at(name), old, same) != nullptr) return when;
  return 0;
}

void Lineages::Report(NodeId node, const Status& missing, const RecordedFiles& recorded, std::int64_t when) {
  std::string files = Describe(recorded, when);
  reports_.push_back(StrCat("stage '", At(node).spec->name, "': ", missing.message(),
                            "; the digests that earlier runs recorded are used", files.empty() ? "" : ": ",
                            files));
  vanished_.insert_or_assign(node, VanishedSource{std::string(missing.message()), std::move(files)});
}

/// Returns the digests of the files; if files are gone, those that an earlier run recorded.
RecordedFiles Lineages::SourcesOf(NodeId node, const LineageStage& stage) {
  RecordedFiles sources;
  const auto files = snapshot_.files.find(stage.stage);
  if (files == snapshot_.files.end()) return sources;
  const Status& missing = files->second.missing;
  if (missing.ok()) {
    for (const SourceFile& file : files->second.files)
      sources.push_back({file.input.name, file.digest.ToHex()});
    return sources;
  }
  const std::vector<Snapshot::Files::Wanted>& wanted = files->second.wanted;
  const LineageStage* old =
      !MayBeGone(missing) ? nullptr : Recorded(node, stage, [&wanted](const LineageStage& recorded) {
        return AreThoseWanted(wanted, recorded.sources);
      });
  const std::string changed = old == nullptr ? std::string() : ChangedOf(wanted, old->sources);
  if (old != nullptr && (changed.empty() || !needed_.contains(node))) {
    Report(node, missing, old->sources, WhenRecorded(*old));
    return old->sources;
  }
  if (snapshot_.offline && missing.code() == Code::kUnavailable) return sources;  // the source may exist
  std::string why(missing.message());
  const LineageStage* other =
      old != nullptr ? old : Recorded(node, stage, [](const LineageStage&) { return true; });
  if (!changed.empty()) why += StrCat("; and ", changed, " is not the one that was read before");
  if (other != nullptr)
    why += StrCat("; an earlier run read ", Describe(other->sources, WhenRecorded(*other)));
  unknown_[node] = Status(missing.code(), StrCat("stage '", stage.stage, "': ", why));
  return sources;
}

/// Adds the artifacts at named inputs and the files that no stage makes. If one is gone, the digests that
/// earlier runs recorded are used.
void Lineages::AddSideInputs(NodeId number, LineageStage& stage) {
  const Node& node = At(number);
  const auto files = snapshot_.side_files.find(stage.stage);
  const std::vector<Snapshot::SideFile> none;
  const std::vector<Snapshot::SideFile>& side_files =
      files == snapshot_.side_files.end() ? none : files->second;
  Status& unknown = unknown_[number];
  const LineageStage* old = nullptr;
  for (const Snapshot::SideFile& file : side_files) {
    if (file.missing.ok()) continue;
    if (old == nullptr && MayBeGone(file.missing))
      old = Recorded(number, stage,
                     [&](const LineageStage& recorded) { return HadTheSameSideFiles(recorded, side_files); });
    if (old != nullptr && !file.of_machine)
      Report(number, file.missing, RecordedSideFile(*old, file), WhenRecorded(*old));
    else if (old != nullptr)  // otherwise CheckInputs refuses what wants the file
      reports_.push_back(StrCat("stage '", stage.stage, "': ", file.missing.message(),
                                "; the digests that earlier runs recorded are used"));
    if (old == nullptr && !file.of_machine && unknown.ok())
      unknown = Status(file.missing).Annotate(StrCat("stage '", stage.stage, "'"));
  }
  for (const NamedInputEdge& edge : node.named_inputs) {
    LineageInput named_input{edge.name, {}, {}, {}};
    if (edge.node) {
      named_input.lineage = Of(*edge.node);
      named_input.digest = named_input.lineage.back().recipe;
      if (unknown.ok()) unknown = this->unknown(*edge.node);
    }
    for (const Snapshot::SideFile& file : side_files)
      if (!edge.node && file.at_named_input && file.name == edge.name) {
        named_input.digest = file.digest;
        named_input.file = file.file;
      }
    if (!edge.node && named_input.digest == Digest() && old != nullptr)
      for (const LineageInput& before : old->named_inputs)
        if (before.name == named_input.name) named_input = before;
    stage.named_inputs.push_back(std::move(named_input));
  }
  for (const Snapshot::SideFile& file : side_files) {
    if (file.at_named_input) continue;
    std::string digest = file.digest.ToHex();
    if (!file.missing.ok() && old != nullptr) {
      if (const auto library = old->libraries.find(file.name); library != old->libraries.end())
        digest = library->second;
      for (const auto& [name, recorded] : old->sources)
        if (name == file.name) digest = recorded;
    }
    if (file.of_machine)
      stage.libraries.insert_or_assign(file.name, std::move(digest));
    else
      stage.sources.push_back({file.name, std::move(digest)});
  }
}

Lineage Lineages::OfOutputs(NodeId node, End end) const {
  Lineage lineage = Of(node);
  LineageStage& last = lineage.back();
  const StageType& type = *At(node).spec->type;
  const SinkKind* const sink = type.sink();
  if (sink != nullptr || end == End::kTakesIn) last.type += kFirstPassSuffix;
  if (sink != nullptr) {
    for (Json::Object config = last.config.AsObject(); const auto& [key, value] : config)
      if (std::find(sink->first_pass_keys.begin(), sink->first_pass_keys.end(), key) ==
          sink->first_pass_keys.end())
        last.config.Remove(key);
    if (sink->first_pass_of) sink->first_pass_of(At(node).spec->config, last.config);
  }
  const std::optional<Digest> input =
      lineage.size() > 1 ? std::optional(lineage[lineage.size() - 2].recipe) : std::nullopt;
  last.recipe = RecipeOf(last, input);
  return lineage;
}

OutputKeys Lineages::KeysOf(NodeId node, End end) const {
  const Lineage outputs = OfOutputs(node, end);
  OutputKeys keys;
  keys.stage = At(node).spec->name;
  if (end == End::kTakesIn) keys.stage += kTakesInSuffix;
  keys.recipe = outputs.back().recipe;
  const std::vector<NodeId> line = graph_.Lineage(node);
  bool records = false;  // from the Source on, or from the last barrier stage on
  for (std::size_t at = 0; at < line.size(); ++at) {
    const StageType& type = *At(line[at]).spec->type;
    const bool gives = type.barrier() != nullptr && (line[at] != node || end == End::kGives);
    if (type.source() != nullptr || gives) {
      records = true;
      keys.end_stages.clear(), keys.end_recipes.clear(), keys.line.clear();
      const auto inputs = static_cast<std::uint32_t>(gives ? 1 : outputs.front().sources.size());
      for (std::uint32_t input = 0; input < inputs; ++input)
        keys.end_recipes.push_back(EndRecipe(Of(line[at]).back().recipe, input));
    }
    if (gives) {
      keys.barriers.push_back(KeysOf(line[at], End::kTakesIn));
      keys.barriers.back().barriers.clear();
    }
    if (!records) continue;
    keys.end_stages.push_back(line[at] == node ? keys.stage : At(line[at]).spec->name);
    keys.line.push_back({At(line[at]).spec->name, Of(line[at]).back().recipe});
  }
  return keys;
}

void ChooseRules(const Graph& graph, const Snapshot& snapshot, PipelineSpec& spec) {
  SetRules(spec, {}, kFirstRules);
  const Lineages lineages(graph, snapshot, {});
  StageRules kept;
  for (const NodeId made : graph.nodes().ids()) {
    if (!snapshot.recipes.contains(lineages.Of(made).back().recipe)) continue;
    for (const NodeId from : graph.nodes().ids())
      if (graph.MadeFrom(made, from)) kept.emplace(graph[from].spec->name, kFirstRules);
  }
  SetRules(spec, kept, kNewestRules);
}

std::string KeptRules(const Graph& graph) {
  std::string stages, changes;
  for (const Node& node : graph.nodes()) {
    const StageSpec& spec = *node.spec;
    if (!spec.rules_are_chosen || spec.config[kRulesKey].AsString() != kFirstRules) continue;
    stages += StrCat(stages.empty() ? "'" : ", '", spec.name, "'");
    const std::string change =
        StrCat("; rules ", kNewestRules, " of ", spec.type->name, " ", spec.type->newest_rules);
    if (changes.find(change) == std::string::npos) changes += change;
  }
  if (stages.empty()) return {};
  return StrCat("earlier work keeps the reading rules ", kFirstRules, " of ", stages, changes,
                "; `rules: ", kNewestRules, "` at the stage makes the work anew");
}

std::string DirectoryOf(const OutputKeys& keys) {
  return StrCat(keys.stage, "-", keys.recipe.ToHex().substr(0, 16));
}

}  // namespace pipeline
