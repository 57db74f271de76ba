#include "dag/lineages.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/str.h"
#include "dag/keys.h"

namespace pipeline {

namespace {

const LineageStage* FindIn(const Lineage& lineage, const LineageStage& stage) {
  for (const LineageStage& old : lineage) {
    if (old.stage == stage.stage && old.type == stage.type && old.config == stage.config) return &old;
    for (const LineagePort& port : old.ports)
      if (const LineageStage* found = FindIn(port.lineage, stage)) return found;
  }
  return nullptr;
}

}  // namespace

Lineages::Lineages(const Graph& graph, const Facts& facts) : graph_(graph), facts_(facts) {
  for (int node = 0; node < static_cast<int>(graph.nodes().size()); ++node) Compute(node);
}

void Lineages::Compute(int node) {
  const StageSpec& spec = *At(node).spec;
  Lineage lineage;
  std::optional<Digest> input;
  std::vector<std::string> files;  // that the stage reads
  if (At(node).input >= 0) {
    lineage = Of(At(node).input);
    input = lineage.back().recipe;
    for (const auto& [name, digest] : lineage.back().sources) files.push_back(name);
  }
  LineageStage stage;
  stage.stage = spec.name;
  stage.type = std::string(spec.type->name);
  stage.version = spec.type->version;
  stage.config = CanonicalConfig(spec.type->keys, spec.config);
  stage.libraries = spec.type->libraries;
  if (spec.type->gives == Flow::kFiles) stage.sources = SourcesOf(spec.name, stage);
  if (spec.type->is_source() && spec.type->taken_from_names) {
    const std::vector<std::string> taken = spec.type->taken_from_names(spec.config, files);
    for (std::size_t at = 0; at < taken.size(); ++at)
      stage.sources.emplace_back(StrCat("name of ", files[at]), taken[at]);
  }
  AddTaken(At(node), stage);
  stage.recipe = RecipeOf(stage, input);
  lineage.push_back(std::move(stage));
  lineages_.push_back(std::move(lineage));
}

/// What an earlier run wrote down of the same stage; null where none did.
const LineageStage* Lineages::Recorded(const LineageStage& stage) const {
  for (const auto& [name, published] : facts_.published)
    if (published.manifest)
      if (const LineageStage* found = FindIn(published.manifest->lineage, stage)) return found;
  for (const auto& [name, lineage] : facts_.logged)
    if (const LineageStage* found = FindIn(lineage, stage)) return found;
  return nullptr;
}

/// The digests of the files, or what an earlier run wrote down of them when they are gone.
std::vector<std::pair<std::string, std::string>> Lineages::SourcesOf(const std::string& name,
                                                                     const LineageStage& stage) {
  std::vector<std::pair<std::string, std::string>> sources;
  const auto files = facts_.files.find(name);
  if (files == facts_.files.end()) return sources;
  if (files->second.missing.ok()) {
    for (const SourceFile& file : files->second.files)
      sources.emplace_back(file.input.name, file.digest.ToHex());
    return sources;
  }
  const LineageStage* old = Recorded(stage);
  if (old == nullptr) return sources;
  reports_.push_back(StrCat("stage '", name, "': ", files->second.missing.message(),
                            "; going by what earlier runs wrote down of it"));
  return old->sources;
}

/// Artifacts at ports and files that no stage makes; for one that is gone, what earlier runs wrote down.
void Lineages::AddTaken(const Node& node, LineageStage& stage) {
  const auto files = facts_.taken.find(stage.stage);
  const std::vector<Facts::TakenFile> none;
  const std::vector<Facts::TakenFile>& taken = files == facts_.taken.end() ? none : files->second;
  const LineageStage* old = nullptr;
  for (const Facts::TakenFile& file : taken) {
    if (file.missing.ok()) continue;
    if (old == nullptr) old = Recorded(stage);
    reports_.push_back(StrCat("stage '", stage.stage, "': ", file.missing.message(),
                              old == nullptr ? "" : "; going by what earlier runs wrote down of it"));
  }
  for (const PortEdge& edge : node.ports) {
    LineagePort port{edge.name, {}, {}};
    if (edge.node >= 0) {
      port.lineage = Of(edge.node);
      port.digest = port.lineage.back().recipe;
    }
    for (const Facts::TakenFile& file : taken)
      if (edge.node < 0 && file.at_port && file.name == edge.name) port.digest = file.digest;
    if (edge.node < 0 && port.digest == Digest() && old != nullptr)
      for (const LineagePort& before : old->ports)
        if (before.name == port.name) port = before;
    stage.ports.push_back(std::move(port));
  }
  for (const Facts::TakenFile& file : taken) {
    if (file.at_port) continue;
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
      stage.sources.emplace_back(file.name, std::move(digest));
  }
}

Lineage Lineages::OfPieces(int node, End end) const {
  Lineage lineage = Of(node);
  LineageStage& last = lineage.back();
  const StageType& type = *At(node).spec->type;
  if (type.is_sink() || end == End::kTakesIn) last.type += "/pieces";
  if (type.is_sink()) {
    for (Json::Object config = last.config.AsObject(); const auto& [key, value] : config)
      if (std::find(type.piece_keys.begin(), type.piece_keys.end(), key) == type.piece_keys.end())
        last.config.Remove(key);
  }
  const std::optional<Digest> input =
      lineage.size() > 1 ? std::optional(lineage[lineage.size() - 2].recipe) : std::nullopt;
  last.recipe = RecipeOf(last, input);
  return lineage;
}

PieceKeys Lineages::KeysOf(int node, End end) const {
  const Lineage pieces = OfPieces(node, end);
  PieceKeys keys;
  keys.stage = At(node).spec->name;
  if (end == End::kTakesIn) keys.stage += kTakesInSuffix;
  keys.recipe = pieces.back().recipe;
  const std::vector<int> line = graph_.Lineage(node);
  bool records = false;  // from the Source on, or from the last Gather stage on
  for (std::size_t at = 0; at < line.size(); ++at) {
    const StageType& type = *At(line[at]).spec->type;
    const bool gives = type.is_gather() && (line[at] != node || end == End::kGives);
    if (type.is_source() || gives) {
      records = true;
      keys.end_stages.clear(), keys.end_recipes.clear(), keys.line.clear();
      const auto inputs = static_cast<std::uint32_t>(gives ? 1 : pieces.front().sources.size());
      for (std::uint32_t input = 0; input < inputs; ++input)
        keys.end_recipes.push_back(EndRecipe(Of(line[at]).back().recipe, input));
    }
    if (gives) {
      keys.gathered.push_back(KeysOf(line[at], End::kTakesIn));
      keys.gathered.back().gathered.clear();
    }
    if (!records) continue;
    keys.end_stages.push_back(line[at] == node ? keys.stage : At(line[at]).spec->name);
    keys.line.push_back({At(line[at]).spec->name, Of(line[at]).back().recipe});
  }
  return keys;
}

std::string DirectoryOf(const PieceKeys& keys) {
  return StrCat(keys.stage, "-", keys.recipe.ToHex().substr(0, 16));
}

}  // namespace pipeline
