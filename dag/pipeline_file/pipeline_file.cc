#include "dag/pipeline_file/pipeline_file.h"

#include <algorithm>
#include <tuple>

#include "base/str.h"
#include "dag/pipeline_file/file_keys.h"
#include "dag/pipeline_file/graph.h"
#include "dag/pipeline_file/stage_type.h"
#include "dag/pipeline_file/typed_value.h"
#include "dag/pipeline_file/variables.h"
#include "dag/pipeline_file/yaml.h"

namespace pipeline {

namespace {

constexpr std::string_view kStagesPrefix = "stages.";
constexpr std::string_view kLimitsPrefix = "limits.";

const ConfigKey& StageKey(std::string_view name) {
  const auto& keys = StageKeys();
  return *std::find_if(keys.begin(), keys.end(), [&](const ConfigKey& key) { return key.name == name; });
}

/// A value of the command line has no position in the file.
void ClearPositions(YamlNode& node) {
  node.at = {};
  for (YamlNode& item : node.items) ClearPositions(item);
  for (YamlEntry& entry : node.entries) entry.key_at = {}, ClearPositions(entry.value);
}

bool HoldsSet(const YamlNode& node) {
  return node.is_set || std::any_of(node.items.begin(), node.items.end(), HoldsSet) ||
         std::any_of(node.entries.begin(), node.entries.end(),
                     [](const YamlEntry& entry) { return HoldsSet(entry.value); });
}

/// Returns `out` with single slashes and none at the end, so that one location has one spelling; the two
/// slashes after the scheme of a URL stay.
std::string NormalLocation(std::string_view out) {
  std::string place;
  for (char c : out) {
    const bool scheme = place.size() > 1 && place.back() == '/' && place[place.size() - 2] == ':';
    if (c == '/' && !place.empty() && place.back() == '/' && !scheme) continue;
    place.push_back(c);
    if (c == '/' && place.size() >= 3 && place.compare(place.size() - 3, 3, "/./") == 0)
      place.resize(place.size() - 2);
  }
  while (place.size() > 1 && place.back() == '/') place.pop_back();
  while (place.size() > 2 && place.compare(0, 2, "./") == 0) place.erase(0, 2);
  return place;
}

class FileReader {
 public:
  FileReader(std::string_view file, const Registry& registry, const ParseOptions& options)
      : registry_(registry), options_(options) {
    spec_.file = file;
  }

  ParsedPipeline Read(std::string_view text) {
    ParsedYaml yaml = ParseYaml(text);
    mistakes_ = std::move(yaml.mistakes);
    if (yaml.root) ReadRoot(*yaml.root);
    ParsedPipeline parsed;
    if (mistakes_.empty()) {
      for (const Mistake& unused : variables_->Unused())
        spec_.warnings.push_back(ToString(unused, spec_.file));
      spec_.variables = variables_->Texts();
      parsed.spec = std::move(spec_);
      return parsed;
    }
    for (Mistake& mistake : mistakes_) {
      if (variables_) mistake.message = variables_->WithoutSecrets(std::move(mistake.message));
      if (mistake.at.line == 0 && mistake.message.compare(0, 5, "--set") != 0)
        mistake.message += " (given with --set)";
    }
    std::stable_sort(mistakes_.begin(), mistakes_.end(), [](const Mistake& a, const Mistake& b) {
      return std::tie(a.at.line, a.at.column) < std::tie(b.at.line, b.at.column);
    });
    // A mistake that an alias repeats is in one place of the file.
    mistakes_.erase(std::unique(mistakes_.begin(), mistakes_.end()), mistakes_.end());
    parsed.mistakes = std::move(mistakes_);
    return parsed;
  }

 private:
  void Complain(FilePosition at, std::string message) { mistakes_.push_back({at, std::move(message)}); }

  void ReadRoot(YamlNode& root) {
    if (root.is_null()) return Complain(root.at, "the file is empty: a pipeline begins with 'pipe: 1'");
    if (!root.is_map())
      return Complain(
          root.at, StrCat("a pipeline file is a map with the keys 'pipe', 'name' and 'stages', and this is ",
                          Describe(root)));
    if (!ReadVersion(root)) return;
    for (const FileKey& key : kFileKeys)
      if (key.required && root.Find(key.name) == nullptr) Complain(root.at, MissingKey(key.name, key.help));
    for (const YamlEntry& entry : root.entries) {
      const auto names = NamesOf(kFileKeys);
      if (std::find(names.begin(), names.end(), entry.key) == names.end())
        Complain(entry.key_at, StrCat("unknown key '", entry.key, "'", DidYouMean(entry.key, names)));
    }
    ReadName(root);
    ApplySettings(root);
    if (YamlNode* limits = root.Find("limits"))
      ReadLimits(*limits);
    else
      ReadLimits({});
    if (YamlNode* stages = root.Find("stages")) ReadStages(*stages);
  }

  /// False: the file has another version, so nothing else in it can be checked.
  bool ReadVersion(const YamlNode& root) {
    const YamlNode* pipe = root.Find("pipe");
    if (pipe == nullptr) return true;
    static const ConfigKey kKey = {"pipe", ValueType::kInteger, "", "", Effect::kNone};
    const auto version = ReadValue(kKey, *pipe, "'pipe', the version of the file,", mistakes_);
    if (!version || version->AsInt() == kFileVersion) return true;
    Complain(pipe->at, StrCat("the file is written for version ", version->AsInt(),
                              ", and this program reads version ", kFileVersion));
    return false;
  }

  void ReadName(const YamlNode& root) {
    const YamlNode* name = root.Find("name");
    if (name == nullptr) return;
    if (name->is_scalar() && IsName(name->text))
      spec_.name = name->text;
    else
      Complain(name->at, StrCat("'name' cannot be ", Describe(*name), ": ", kNameRule));
  }

  /// Reads the variables, applies --set, and replaces each ${...}.
  void ApplySettings(YamlNode& root) {
    std::vector<std::pair<std::string, std::string>> overrides;
    for (const auto& [name, value] : options_.set) {
      if (const auto bad = FindBadCharacter(value))
        Complain({}, StrCat("--set ", name, ": ", bad->what));
      else if (name.compare(0, kStagesPrefix.size(), kStagesPrefix) == 0)
        SetStageKey(root, name, value);
      else if (name.starts_with(kLimitsPrefix))
        SetLimit(root, name, value);
      else
        overrides.emplace_back(name, value);
    }
    variables_.emplace(root.Find("vars"), root.Find("env"), options_, overrides, mistakes_);
    for (std::string_view key : {"limits", "stages"})
      if (YamlNode* node = root.Find(key)) variables_->Expand(*node);
  }

  void SetStageKey(YamlNode& root, const std::string& name, const std::string& text) {
    const std::size_t dot = name.find('.', kStagesPrefix.size());
    if (dot == std::string::npos || dot + 1 == name.size())
      return Complain({}, StrCat("--set ", name, ": write stages.STAGE.KEY=VALUE"));
    const std::string stage = name.substr(kStagesPrefix.size(), dot - kStagesPrefix.size());
    const std::string key = name.substr(dot + 1);
    YamlNode* stages = root.Find("stages");
    YamlNode* node = stages != nullptr ? stages->Find(stage) : nullptr;
    if (node == nullptr) {
      std::vector<std::string_view> names;
      if (stages != nullptr)
        for (const YamlEntry& entry : stages->entries) names.push_back(entry.key);
      return Complain({},
                      StrCat("--set ", name, ": there is no stage '", stage, "'", NamesLike(stage, names)));
    }
    if (node->is_map()) SetBelow(*node, key, name, text);  // another value is reported with the stage
  }

  /// Sets `path`, such as "config.optimizer.lr"; maps on the way that the file lacks are added. A key of the
  /// file may have dots itself.
  void SetBelow(YamlNode& node, const std::string& path, const std::string& name, const std::string& text) {
    const bool is_key = node.Find(path) != nullptr || path.ends_with('.');
    for (std::size_t dot = path.rfind('.'); !is_key && dot != std::string::npos && dot > 0;
         dot = path.rfind('.', dot - 1)) {
      YamlNode* const below = node.Find(path.substr(0, dot));
      if (below == nullptr) continue;
      if (below->is_null()) below->kind = YamlNode::Kind::kMap;
      if (below->is_map()) return SetBelow(*below, path.substr(dot + 1), name, text);
      return Complain(
          {}, StrCat("--set ", name, ": '", path.substr(0, dot), "' is no map, and is ", Describe(*below)));
    }
    const std::size_t dot = is_key ? 0 : path.find('.');
    if (dot == 0 || dot == std::string::npos) return SetKey(node, path, name, text);
    YamlNode map;
    map.kind = YamlNode::Kind::kMap;
    node.entries.push_back({path.substr(0, dot), {}, std::move(map)});
    SetBelow(node.entries.back().value, path.substr(dot + 1), name, text);
  }

  void SetLimit(YamlNode& root, const std::string& name, const std::string& text) {
    if (root.Find("limits") == nullptr) root.entries.push_back({"limits", {}, {}});
    YamlNode& limits = *root.Find("limits");
    if (limits.is_null()) limits.kind = YamlNode::Kind::kMap;
    if (limits.is_map()) SetKey(limits, name.substr(kLimitsPrefix.size()), name, text);
  }

  /// `name`: the name after --set.
  void SetKey(YamlNode& node, const std::string& key, const std::string& name, const std::string& text) {
    ParsedYaml value = ParseYaml(text);
    for (const Mistake& mistake : value.mistakes) Complain({}, StrCat("--set ", name, ": ", mistake.message));
    if (!value.root) return;
    ClearPositions(*value.root);
    value.root->is_set = true;
    if (YamlNode* present = node.Find(key))
      *present = std::move(*value.root);
    else
      node.entries.push_back({key, {}, std::move(*value.root)});
  }

  void ReadLimits(const YamlNode& limits) {
    if (!limits.is_map() && !limits.is_null())
      return Complain(limits.at, StrCat("'limits' must be a map, and this is ", Describe(limits)));
    const auto config = ReadConfig(LimitKeys(), limits.entries, {}, "limits", limits.at, mistakes_);
    if (!config) return;
    for (const YamlEntry& entry : limits.entries)
      if ((*config)[entry.key].is_int() && (*config)[entry.key].AsInt() == 0)
        Complain(entry.value.at, StrCat("limits: '", entry.key, "' must be above 0"));
    spec_.memory_limit = static_cast<std::uint64_t>((*config)["memory"].AsInt());
    if (config->Has("disk")) spec_.disk_limit = static_cast<std::uint64_t>((*config)["disk"].AsInt());
  }

  void ReadStages(const YamlNode& stages) {
    if (!stages.is_map() && !stages.is_null())
      return Complain(stages.at,
                      StrCat("'stages' must be a map of names to stages, and this is ", Describe(stages)));
    if (stages.entries.empty())
      return Complain(
          stages.at,
          "'stages' is empty: a pipeline has at least one stage; the lines of its stages are indented "
          "below it");
    // No stage is a word, so these are the keys of one.
    if (const YamlNode* const type = stages.Find("type"); type != nullptr && type->is_scalar())
      return Complain(
          type->at, "'type' stands where the names of stages do; indent the keys of a stage below its name");
    for (const YamlEntry& entry : stages.entries) ReadStage(entry);
    LeaveOutReaders();
    Graph::Build(spec_.stages, mistakes_, &registry_);
  }

  /// Leaves out the stages that read an unseen stage, because nobody knows the records that it gives.
  void LeaveOutReaders() {
    for (std::size_t known = 0; known < spec_.unseen.size(); ++known) {
      const std::string unseen = spec_.unseen[known].name, without = spec_.unseen[known].without;
      const auto reads = [&](const StageSpec& stage) {
        return stage.input == unseen ||
               std::any_of(stage.named_inputs.begin(), stage.named_inputs.end(),
                           [&](const NamedInputSpec& named_input) { return named_input.value == unseen; });
      };
      for (const StageSpec& stage : spec_.stages)
        if (reads(stage))
          spec_.unseen.push_back({stage.name, stage.at, without, StrCat("it reads '", unseen, "'")});
      std::erase_if(spec_.stages, reads);
    }
  }

  void ReadStage(const YamlEntry& entry) {
    if (!IsName(entry.key)) Complain(entry.key_at, StrCat("bad name of a stage: ", kNameRule));
    StageSpec stage;
    stage.name = entry.key;
    stage.at = entry.key_at;
    if (entry.value.is_map()) {
      const std::size_t unseen = spec_.unseen.size();
      ReadType(entry.value, stage);
      if (spec_.unseen.size() != unseen) return;
      ReadInput(entry.value, stage);
      if (stage.type != nullptr) ReadNamedInputs(entry.value, stage);
      if (const YamlNode* keep = entry.value.Find("keep"))
        stage.keep = ReadText(stage, "keep", *keep).value_or(Json(false)).AsBool();
      const YamlNode* const expect = entry.value.Find(kExpectKey.name);
      if (expect != nullptr && stage.type != nullptr)  // only its type tells which counts it has
        stage.expect = ReadExpectations(*expect, *stage.type, Name(stage), mistakes_);
      if (stage.type != nullptr) ReadTypeKeys(entry.value, stage);
      if (stage.type != nullptr && stage.type->expand && !stage.config.is_null()) Expand(stage);
    } else {
      Complain(entry.value.at,
               StrCat(Name(stage), " must be a map with a 'type', and this is ", Describe(entry.value)));
    }
    spec_.stages.push_back(std::move(stage));
  }

  static std::string Name(const StageSpec& stage) { return StrCat("stage '", stage.name, "'"); }

  std::optional<Json> ReadText(const StageSpec& stage, std::string_view key, const YamlNode& node) {
    return ReadValue(StageKey(key), node, StrCat(Name(stage), ": '", key, "'"), mistakes_);
  }

  void ReadType(const YamlNode& node, StageSpec& stage) {
    const YamlNode* type = node.Find("type");
    if (type == nullptr)
      return Complain(stage.at, StrCat(Name(stage), ": ", MissingKey("type", StageKey("type").help)));
    const auto name = ReadText(stage, "type", *type);
    if (!name) return;
    const YamlNode* plugin = node.Find("plugin");
    if (plugin != nullptr && !plugin->is_null()) return ReadPluginType(*plugin, *name, stage);
    stage.type = registry_.Find(name->AsString());
    if (stage.type != nullptr) return;
    const std::string hint =
        type->secret ? std::string() : DidYouMean(name->AsString(), NamesOf(registry_.types()));
    Complain(type->at, StrCat(Name(stage), ": there is no stage type ", Describe(*type), hint));
  }

  void ReadPluginType(const YamlNode& node, const Json& type, StageSpec& stage) {
    if (node.secret)
      return Complain(node.at, StrCat(Name(stage), ": 'plugin' cannot come from the environment"));
    const auto plugin = ReadText(stage, "plugin", node);
    if (!plugin) return;
    Result<PluginStageType> found = Status(Code::kUnimplemented, "plugins cannot be loaded here");
    if (options_.plugin_stage)
      found = options_.plugin_stage(std::string(plugin->AsString()), std::string(type.AsString()));
    if (!found.ok()) return Complain(node.at, StrCat(Name(stage), ": ", found.status().message()));
    stage.type = found->type;
    if (stage.type == nullptr)
      spec_.unseen.push_back({stage.name, stage.at, std::move(found->without), std::move(found->why)});
  }

  void ReadInput(const YamlNode& node, StageSpec& stage) {
    const YamlNode* input = node.Find("input");
    const bool takes = stage.type == nullptr || stage.type->takes != Flow::kNothing;
    if (input == nullptr || input->is_null()) {
      if (stage.type != nullptr && takes)
        Complain(stage.at, StrCat(Name(stage), " (", stage.type->name,
                                  "): ", MissingKey("input", StageKey("input").help)));
    } else if (!takes) {
      Complain(input->at,
               StrCat(Name(stage), " (", stage.type->name, ") begins a pipeline and takes no 'input'"));
    } else if (input->secret) {  // later messages name the input
      Complain(input->at,
               StrCat(Name(stage), ": 'input' names a stage, and cannot come from the environment"));
    } else if (const auto name = ReadText(stage, "input", *input)) {
      stage.input = name->AsString();
      stage.input_at = input->at;
      if (stage.input.empty()) Complain(input->at, StrCat(Name(stage), ": 'input' is empty"));
    }
  }

  /// `tokenizer: words` and `inputs: { tokenizer: words }` say the same.
  void ReadNamedInputs(const YamlNode& node, StageSpec& stage) {
    const std::vector<NamedInput>& named_inputs = stage.type->named_inputs;
    const YamlNode* inputs = named_inputs.empty() ? nullptr : node.Find(kInputsKey.name);
    if (inputs != nullptr && inputs->is_null()) inputs = nullptr;
    const std::string where = StrCat(Name(stage), ": '", kInputsKey.name, "'");
    if (inputs != nullptr && !inputs->is_map())
      return Complain(inputs->at, StrCat(where, " must be a map of named inputs to stages, and this is ",
                                         Describe(*inputs)));
    for (const NamedInput& named_input : named_inputs) {
      const YamlNode* key = node.Find(named_input.name);
      const YamlNode* entry = inputs == nullptr ? nullptr : inputs->Find(named_input.name);
      if (key != nullptr && entry != nullptr) {
        Complain(entry->at, StrCat(where, ": '", named_input.name, "' is given twice"));
      } else if (key != nullptr || entry != nullptr) {
        ReadNamedInput(named_input, key != nullptr ? *key : *entry, stage);
      } else if (named_input.required && !named_input.inherited) {
        Complain(stage.at, StrCat(Name(stage), " (", stage.type->name,
                                  "): ", MissingKey(named_input.name, named_input.help)));
      }
    }
    if (inputs == nullptr) return;
    const auto names = NamesOf(named_inputs);
    for (const YamlEntry& entry : inputs->entries)
      if (std::find(names.begin(), names.end(), entry.key) == names.end())
        Complain(entry.key_at,
                 StrCat(where, ": unknown named input '", entry.key, "'", DidYouMean(entry.key, names)));
  }

  void ReadNamedInput(const NamedInput& named_input, const YamlNode& node, StageSpec& stage) {
    const std::string where = StrCat(Name(stage), ": '", named_input.name, "'");
    if (node.is_null()) {
      if (named_input.required && !named_input.inherited) Complain(node.at, StrCat(where, " is empty"));
      return;
    }
    if (named_input.many && node.is_list()) {
      if (node.items.empty()) Complain(node.at, StrCat(where, " is an empty list"));
      for (const YamlNode& item : node.items) ReadNamedInputValue(named_input, item, where, stage);
      return;
    }
    ReadNamedInputValue(named_input, node, where, stage);
  }

  void ReadNamedInputValue(const NamedInput& named_input, const YamlNode& node, const std::string& where,
                           StageSpec& stage) {
    if (node.secret) return Complain(node.at, StrCat(where, " cannot come from the environment"));
    const ConfigKey key = {named_input.name, ValueType::kString, "", ""};
    const auto value = ReadValue(key, node, where, mistakes_);
    if (!value) return;
    if (value->AsString().empty()) return Complain(node.at, StrCat(where, " is empty"));
    stage.named_inputs.push_back({&named_input, std::string(value->AsString()), node.at});
  }

  void ReadTypeKeys(const YamlNode& node, StageSpec& stage) {
    std::vector<std::string_view> also = {kExpectKey.name};
    for (const NamedInput& named_input : stage.type->named_inputs) also.push_back(named_input.name);
    if (!stage.type->named_inputs.empty()) also.push_back(kInputsKey.name);
    for (const ConfigKey& key : StageKeys()) also.push_back(key.name);
    const auto config = ReadConfig(stage.type->keys, node.entries, also, Name(stage), stage.at, mistakes_);
    if (config) stage.config = *config;
    for (const ConfigKey& key : stage.type->keys)
      if (config && TellsOfAnother(key, node)) stage.config.Remove(key.name);
    ReadOut(node, stage);
  }

  void Expand(StageSpec& stage) {
    std::vector<std::string> named_inputs;
    for (const NamedInputSpec& spec : stage.named_inputs) named_inputs.emplace_back(spec.named_input->name);
    Result<Expansion> expansion = stage.type->expand(stage.config, named_inputs);
    if (!expansion.ok()) {
      stage.config = {};
      return Complain(stage.at,
                      StrCat(Name(stage), " (", stage.type->name, "): ", expansion.status().message()));
    }
    stage.config = std::move(expansion->config);
    std::erase_if(stage.named_inputs, [&](const NamedInputSpec& spec) {
      return std::find(expansion->unread.begin(), expansion->unread.end(), spec.named_input->name) !=
             expansion->unread.end();
    });
    for (const std::string& note : expansion->notes) spec_.notes.push_back(StrCat(Name(stage), ": ", note));
  }

  /// Returns whether the file gives this key for a value that --set has replaced.
  static bool TellsOfAnother(const ConfigKey& key, const YamlNode& node) {
    const YamlNode* const told = node.Find(key.name);
    const YamlNode* const of = key.tells_of.empty() ? nullptr : node.Find(key.tells_of);
    return told != nullptr && of != nullptr && HoldsSet(*of) && !HoldsSet(*told);
  }

  void ReadOut(const YamlNode& node, StageSpec& stage) {
    const YamlNode* out = node.Find("out");
    const std::string who = StrCat(Name(stage), " (", stage.type->name, ")");
    if (!stage.type->publishes()) {
      if (out != nullptr)
        Complain(out->at,
                 StrCat(who, " publishes nothing and takes no 'out'; 'keep: true' keeps its records"));
      return;
    }
    if (out == nullptr || out->is_null()) {
      if (!stage.type->needs_out()) return;
      return Complain(
          stage.at,
          StrCat(who, " publishes: missing key 'out', a directory or a URL such as gs://bucket/path"));
    }
    const auto place = ReadText(stage, "out", *out);
    if (!place) return;
    stage.out = place->AsString();
    if (stage.out.empty()) return Complain(out->at, StrCat(who, ": 'out' is empty"));
    if (stage.config.is_null()) return;
    std::string below = stage.type->location(stage.config);
    const JobKind* const job = stage.type->job();
    if (job != nullptr && job->location_of_recipe) below = StrCat(kRunLocation, stage.name, "-*");
    const auto [taken, is_new] = places_.emplace(NormalLocation(StrCat(stage.out, "/", below)), stage.name);
    if (!is_new)
      Complain(out->at, StrCat(who, " publishes at the same location as stage '", taken->second,
                               "': give it another 'out'"));
  }

  const Registry& registry_;
  const ParseOptions& options_;
  PipelineSpec spec_;
  std::vector<Mistake> mistakes_;
  std::optional<Variables> variables_;
  std::map<std::string, std::string> places_;  // the stage that publishes at each location
};

}  // namespace

ParsedPipeline ParsePipeline(std::string_view text, std::string_view file, const Registry& registry,
                             const ParseOptions& options) {
  return FileReader(file, registry, options).Read(text);
}

std::string LocationOfStage(const StageSpec& spec) {
  const JobKind* const job = spec.type->job();
  if (spec.out.empty() || (job != nullptr && job->location_of_recipe)) return {};
  const std::string below = spec.type->location(spec.config);
  if (below.empty()) return spec.out;
  return spec.out.ends_with('/') ? spec.out + below : StrCat(spec.out, "/", below);
}

}  // namespace pipeline
