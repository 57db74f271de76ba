#include "cli/report/stage_recipes.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/str.h"
#include "cli/terminal/command_line.h"
#include "dag/pipeline_file/stage_type.h"

namespace pipeline {

namespace {

constexpr std::string_view kHidden = "***";
// Shorter secrets, such as "1", are not replaced in a text, because other text has them too.
constexpr std::size_t kShortestSecret = 4;

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

void Replace(std::string& text, const std::string& what) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += kHidden.size())
    text.replace(at, what.size(), kHidden);
}

/// Hides secrets in NAME=VALUE and in URLs, as in the words of a command.
std::string WithoutNamed(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals != std::string::npos && text.find("://") > equals && IsSecretName(text.substr(0, equals)))
    return StrCat(text.substr(0, equals + 1), kHidden);
  return WithoutSecret(text);
}

std::string FateName(const Reason& reason) {
  if (reason.of == Reason::Of::kOther || reason.of == Reason::Of::kDocuments) return "tally";
  if (reason.fate == Reason::Fate::kDropped) return "dropped";
  return reason.fate == Reason::Fate::kNotMeant ? "not meant" : "stays";
}

const LineageStage* Find(const Lineage& lineage, const std::string& stage) {
  for (const LineageStage& made : lineage)
    if (made.stage == stage) return &made;
  return nullptr;
}

/// Returns the entry of `stage` in the plan: in a segment that runs, otherwise in another segment.
const LineageStage* MadeBy(const Plan& plan, const std::string& stage) {
  for (const bool wanted : {true, false})
    for (const PlannedSegment& segment : plan.segments)
      if ((segment.state == PlannedSegment::State::kWanted) == wanted)
        if (const LineageStage* made = Find(segment.lineage, stage)) return made;
  return nullptr;
}

}  // namespace

std::vector<std::string> SecretsIn(const std::map<std::string, std::string>& variables) {
  std::vector<std::string> secrets;
  for (const auto& [name, value] : variables)
    if (!value.empty() && (name.starts_with("env:") || IsSecretName(name))) secrets.push_back(value);
  // The longest come first, because one may be the beginning of another.
  std::sort(secrets.begin(), secrets.end(),
            [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
  return secrets;
}

std::string HiddenText(std::string_view text, const std::vector<std::string>& secrets) {
  std::string shown(text);
  for (const std::string& secret : secrets) {
    if (shown == secret) return std::string(kHidden);
    if (secret.size() >= kShortestSecret) Replace(shown, secret);
  }
  const std::string lower = Lower(shown);
  for (const std::string_view mark : {"authorization:", "bearer "})
    if (const std::size_t at = lower.find(mark); at != std::string::npos)
      return StrCat(shown.substr(0, at + mark.size()), kHidden);
  return WithoutNamed(shown);
}

Json Hidden(const Json& config, const std::vector<std::string>& secrets) {
  if (config.is_string()) return Json(HiddenText(config.AsString(), secrets));
  if (config.is_array()) {
    Json shown = Json::Array{};
    for (const Json& element : config.AsArray()) shown.Append(Hidden(element, secrets));
    return shown;
  }
  if (config.is_object()) {
    Json shown = Json::Object{};
    for (const auto& [name, value] : config.AsObject())
      shown[name] = value.is_string() && IsSecretName(name) ? Json(kHidden) : Hidden(value, secrets);
    return shown;
  }
  const std::string text = config.is_null() ? std::string() : config.Dump();
  const bool secret =
      text.size() >= kShortestSecret && std::find(secrets.begin(), secrets.end(), text) != secrets.end();
  return secret ? Json(kHidden) : config;
}

void AddRecipes(const Graph& graph, const Plan& plan, const std::vector<std::string>& secrets,
                std::vector<RecordedStage>& stages) {
  for (const NodeId node : graph.nodes().ids()) {
    if (node.index() >= stages.size()) break;
    const StageSpec& spec = *graph[node].spec;
    RecordedStage& stage = stages[node.index()];
    stage.version = spec.type->version;
    stage.config = Hidden(spec.config, secrets);
    stage.libraries = spec.type->LibrariesOf(spec.config);
    for (const Reason& reason : spec.type->reasons) stage.reasons.emplace(reason.name, FateName(reason));
    const LineageStage* made = MadeBy(plan, stage.name);
    if (made == nullptr) continue;
    stage.recipe = made->recipe.ToHex();
    stage.libraries.insert(made->libraries.begin(), made->libraries.end());
    for (const auto& [name, digest] : made->sources)
      stage.sources.emplace_back(HiddenText(name, secrets), HiddenText(digest, secrets));
    for (const LineageInput& named_input : made->named_inputs)
      stage.sources.emplace_back(
          StrCat(named_input.name,
                 named_input.file.empty() ? "" : StrCat(" ", HiddenText(named_input.file, secrets))),
          named_input.digest.ToHex());
  }
}

}  // namespace pipeline
