#include "dag/books/lineage.h"

#include <algorithm>
#include <functional>

#include "base/json_fields.h"
#include "base/str.h"

namespace pipeline {

namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

std::string Shown(const Json& value) {
  return value.is_string() ? std::string(value.AsString()) : value.Dump();
}

/// Compares objects key by key, everything else as a whole.
void CompareConfig(const Json& before, const Json& after, const std::string& what,
                   const std::function<void(std::string, std::string, std::string)>& differ) {
  if (before == after) return;
  if (!before.is_object() || !after.is_object()) {
    differ(what, Shown(before), Shown(after));
    return;
  }
  for (const auto& [key, value] : before.AsObject()) {
    if (after.Has(key))
      CompareConfig(value, after[key], StrCat(what, '.', key), differ);
    else
      differ(StrCat(what, '.', key), Shown(value), {});
  }
  for (const auto& [key, value] : after.AsObject())
    if (!before.Has(key)) differ(StrCat(what, '.', key), {}, Shown(value));
}

void CompareLibraries(const LineageStage& before, const LineageStage& after, std::vector<Difference>& out) {
  std::map<std::string, std::pair<std::string, std::string>> versions;
  for (const auto& [name, version] : before.libraries) versions[name].first = version;
  for (const auto& [name, version] : after.libraries) versions[name].second = version;
  for (const auto& [name, pair] : versions) {
    const bool both = before.libraries.count(name) == after.libraries.count(name);
    if (!both || pair.first != pair.second)
      out.push_back({after.stage, StrCat("library.", name), pair.first, pair.second, true});
  }
}

/// Compares sources by position, as the hash does: their names are for people.
void CompareSources(const LineageStage& before, const LineageStage& after, std::vector<Difference>& out) {
  const std::size_t count = std::max(before.sources.size(), after.sources.size());
  for (std::size_t i = 0; i < count; ++i) {
    const auto* was = i < before.sources.size() ? &before.sources[i] : nullptr;
    const auto* is = i < after.sources.size() ? &after.sources[i] : nullptr;
    if (was && is && was->digest == is->digest) continue;
    out.push_back({after.stage, StrCat("source.", is ? is->name : was->name), was ? was->digest : "",
                   is ? is->digest : "", false});
  }
}

const LineageInput* FindNamedInput(const LineageStage& stage, const std::string& name) {
  for (const LineageInput& named_input : stage.named_inputs)
    if (named_input.name == name) return &named_input;
  return nullptr;
}

std::string MadeBy(const LineageInput* named_input) {
  if (named_input == nullptr) return {};
  return named_input->lineage.empty() ? named_input->digest.ToHex() : named_input->lineage.back().stage;
}

void ComparePorts(const LineageStage& before, const LineageStage& after, std::vector<Difference>& out) {
  const auto differ = [&](const std::string& name, const LineageInput* was, const LineageInput* is) {
    out.push_back({after.stage, StrCat("port.", name), MadeBy(was), MadeBy(is), false});
  };
  for (const LineageInput& was : before.named_inputs)
    if (FindNamedInput(after, was.name) == nullptr) differ(was.name, &was, nullptr);
  for (const LineageInput& is : after.named_inputs) {
    const LineageInput* was = FindNamedInput(before, is.name);
    if (was == nullptr) {
      differ(is.name, nullptr, &is);
    } else if (was->digest != is.digest) {
      std::vector<Difference> inner;
      if (!was->lineage.empty() && !is.lineage.empty()) inner = Compare(was->lineage, is.lineage);
      if (inner.empty()) differ(is.name, was, &is);
      out.insert(out.end(), inner.begin(), inner.end());
    }
  }
}

void CompareStage(const LineageStage& before, const LineageStage& after, std::vector<Difference>& out) {
  if (before.type != after.type) out.push_back({after.stage, "type", before.type, after.type, false});
  if (before.version != after.version)
    out.push_back({after.stage, "version", StrCat(before.version), StrCat(after.version), false});
  CompareConfig(before.config, after.config, "config",
                [&](std::string what, std::string was, std::string is) {
                  out.push_back({after.stage, std::move(what), std::move(was), std::move(is), false});
                });
  CompareLibraries(before, after, out);
  CompareSources(before, after, out);
  ComparePorts(before, after, out);
}

/// Returns for each new stage the old one that it continues, or kNone. Stages are matched first by name, then
/// by type.
std::vector<std::size_t> Match(const Lineage& before, const Lineage& after) {
  std::vector<std::size_t> match(after.size(), kNone);
  std::vector<bool> taken(before.size(), false);
  const auto pair_up = [&](std::string LineageStage::*same) {
    for (std::size_t i = 0; i < after.size(); ++i)
      for (std::size_t j = 0; match[i] == kNone && j < before.size(); ++j)
        if (!taken[j] && before[j].*same == after[i].*same) match[i] = j, taken[j] = true;
  };
  pair_up(&LineageStage::stage);
  pair_up(&LineageStage::type);
  return match;
}

std::string Names(const Lineage& lineage) {
  std::string names;
  for (const LineageStage& stage : lineage) names += StrCat(names.empty() ? "" : ", ", stage.stage);
  return names;
}

std::optional<Digest> RecipeOfAll(const Lineage& lineage) {
  std::optional<Digest> recipe;
  for (const LineageStage& stage : lineage) recipe = RecipeOf(stage, recipe);
  return recipe;
}

}  // namespace

template <class Fields, Of<LineageSource> T>
void ListFields(Fields& fields, T& source) {
  fields.Required("name", source.name).Required("digest", source.digest);
}

template <class Fields, Of<LineageInput> T>
void ListFields(Fields& fields, T& named_input) {
  fields.Required("name", named_input.name).Required("recipe", named_input.digest);
  fields.Optional("file", named_input.file).Required("lineage", named_input.lineage);
}

template <class Fields, Of<LineageStage> T>
void ListFields(Fields& fields, T& stage) {
  fields.Required("stage", stage.stage).Required("type", stage.type).Required("version", stage.version);
  fields.Required("config", stage.config).Required("libraries", stage.libraries);
  fields.Required("sources", stage.sources).Optional("ports", stage.named_inputs);
  fields.Required("recipe", stage.recipe);
}

Json ToJson(const Lineage& lineage) { return JsonWriter::ValueOf(lineage); }

Result<Lineage> LineageFromJson(const Json& json) {
  if (!json.is_array()) return Status(Code::kDataLoss, "lineage: not an array");
  Lineage lineage;
  Status status;
  for (const Json& element : json.AsArray()) {
    const std::string where = StrCat("lineage[", lineage.size(), "].");
    JsonFields fields(element, where, status);
    ListFields(fields, lineage.emplace_back());
  }
  RETURN_IF_ERROR(status);
  return lineage;
}

Digest RecipeOf(const LineageStage& stage, std::optional<Digest> input_recipe) {
  Hasher hasher;
  hasher.UpdateField("pipe recipe v1").UpdateField(stage.type).UpdateU64(stage.version);
  hasher.UpdateField(stage.config.Dump());
  hasher.UpdateU64(stage.libraries.size());
  for (const auto& [name, version] : stage.libraries) hasher.UpdateField(name).UpdateField(version);
  hasher.UpdateU64(stage.sources.size());
  for (const auto& [name, digest] : stage.sources) hasher.UpdateField(digest);
  hasher.UpdateField(input_recipe ? input_recipe->ToHex() : "");
  for (const LineageInput& named_input : stage.named_inputs)
    hasher.UpdateField(named_input.name).UpdateField(named_input.digest.ToHex());
  return hasher.Finish();
}

std::vector<Difference> Compare(const Lineage& old_lineage, const Lineage& new_lineage) {
  if (RecipeOfAll(old_lineage) == RecipeOfAll(new_lineage)) return {};
  std::vector<Difference> differences;
  const std::vector<std::size_t> match = Match(old_lineage, new_lineage);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < new_lineage.size(); ++i) {
    const LineageStage& stage = new_lineage[i];
    if (match[i] == kNone) {
      differences.push_back({stage.stage, "stage added", {}, stage.type, false});
    } else {
      order.push_back(match[i]);
      CompareStage(old_lineage[match[i]], stage, differences);
    }
  }
  for (std::size_t j = 0; j < old_lineage.size(); ++j)
    if (std::find(match.begin(), match.end(), j) == match.end())
      differences.push_back({old_lineage[j].stage, "stage removed", old_lineage[j].type, {}, false});
  if (!std::is_sorted(order.begin(), order.end()))
    differences.push_back({new_lineage.back().stage, "order", Names(old_lineage), Names(new_lineage), false});
  // The stages before an artifact at a named input and before its reader are mostly the same.
  std::vector<Difference> once;
  for (Difference& difference : differences)
    if (std::find(once.begin(), once.end(), difference) == once.end()) once.push_back(std::move(difference));
  return once;
}

std::string ToString(const Difference& difference) {
  constexpr std::string_view kConfig = "config.";
  std::string_view what = difference.what;
  if (what.substr(0, kConfig.size()) == kConfig) what.remove_prefix(kConfig.size());
  const auto shown = [](const std::string& value) { return value.empty() ? std::string("(none)") : value; };
  return StrCat(difference.stage, ": ", what, ": ", shown(difference.old_value), " -> ",
                shown(difference.new_value));
}

std::string Summary(const std::vector<Difference>& differences) {
  std::string text;
  for (std::size_t i = 0; i < differences.size() && i < 3; ++i)
    text += StrCat(i == 0 ? "" : "; ", ToString(differences[i]));
  if (differences.size() > 3) text += StrCat("; and ", differences.size() - 3, " more");
  return text;
}

}  // namespace pipeline
