#include "plugins/plugin_stage.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>
#include <vector>

#include "base/str.h"
#include "dag/pipeline_file/mistake.h"
#include "plugins/plugin_abi.h"
#include "plugins/plugin_job.h"
#include "plugins/plugin_view.h"

namespace pipeline {

namespace {

Status NoSuchType(const Plugin& plugin, const std::string& type) {
  std::vector<std::string_view> names;
  for (const StageType& known : plugin.description().stages)
    names.push_back(known.name.substr(plugin.name().size() + 1));
  std::string all;
  for (const std::string_view name : names) all += StrCat(all.empty() ? "" : ", ", name);
  return Status(
      Code::kInvalidArgument,
      StrCat("the plugin '", plugin.name(), "' has no stage type '", type, "'", DidYouMean(type, names),
             all.empty() ? std::string("; it has none") : StrCat("; it has: ", all)));
}

/// `answer`: the reply of pipe.hosts/1, or null if the plugin has no such extension.
Result<JobPosition> PositionOf(Json answer, const Plugin& plugin) {
  JobPosition position;
  if (answer.is_null()) return position;
  const std::int64_t host = answer["host"].AsInt(-1), hosts = answer["hosts"].AsInt(-1);
  if (host < 0 || host >= hosts || hosts > std::numeric_limits<int>::max())
    return Status(Code::kInternal, StrCat("plugin '", plugin.name(), "': its ", PIPE_HOSTS_1,
                                          " gave no `host` below `hosts`; see plugins/ABI.md, section 14"));
  position.host = static_cast<int>(host);
  position.hosts = static_cast<int>(hosts);
  position.answer = std::move(answer);
  return position;
}

/// True if the value has the form that the request has for a key of this type: plugins/ABI.md, section 6.
bool HasForm(const Json& value, const ConfigKey& key) {
  switch (key.type) {
    case ValueType::kInteger:
    case ValueType::kBytes: return value.is_int();
    case ValueType::kNumber: return value.is_number();
    case ValueType::kBoolean: return value.is_bool();
    case ValueType::kChoice:
      return std::find(key.choices.begin(), key.choices.end(), value.AsString()) != key.choices.end();
    case ValueType::kStrings:
      if (!value.is_array()) return false;
      for (const Json& item : value.AsArray())
        if (!item.is_string()) return false;
      return true;
    case ValueType::kMap: return value.is_object();
    default: return value.is_string();
  }
}

/// `answer`: the reply of pipe.expand/1, or null if the plugin has no such extension.
Result<Expansion> ExpansionOf(const Json& answer, const Json& config, const StageType& type,
                              const Plugin& plugin) {
  Expansion expansion;
  expansion.config = answer.is_null() ? config : answer["config"];
  const auto wrong = [&](std::string_view what) {
    return Status(Code::kInternal, StrCat("plugin '", plugin.name(), "': its ", PIPE_EXPAND_1, " gave ", what,
                                          "; see plugins/ABI.md, section 15"));
  };
  if (!expansion.config.is_object()) return wrong("no `config`");
  for (const auto& [name, value] : expansion.config.AsObject()) {
    const auto key = std::find_if(type.keys.begin(), type.keys.end(),
                                  [&name = name](const ConfigKey& known) { return known.name == name; });
    if (key == type.keys.end()) return wrong(StrCat("the key '", name, "', which the stage has not"));
    if (!HasForm(value, *key)) return wrong(StrCat("a value of another type for the key '", name, "'"));
  }
  for (const ConfigKey& key : type.keys)
    if (key.fallback != "~" && !expansion.config.Has(key.name))
      return wrong(StrCat("no value for the key '", key.name, "'"));
  for (const Json& name : answer["unread"].AsArray()) expansion.unread.emplace_back(name.AsString());
  for (const Json& note : answer["notes"].AsArray()) expansion.notes.emplace_back(note.AsString());
  return expansion;
}

}  // namespace

Result<const StageType*> PluginStages::Find(const std::string& plugin_name, const std::string& type_name) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const Plugin> plugin, loader_.Load(plugin_name));
  const StageType* const described = plugin->description().Find(plugin->name(), type_name);
  if (described == nullptr) return NoSuchType(*plugin, type_name);
  for (const StageType& known : types_)
    if (known.name.data() == described->name.data()) return &known;
  StageType& type = types_.emplace_back(*described);
  const PluginServices& services = services_;
  type.expand = [plugin, &type, &services](
                    const Json& config, const std::vector<std::string>& named_inputs) -> Result<Expansion> {
    Json request = PluginRequest(type, config);
    request["named_inputs"] = Json::Array(named_inputs.begin(), named_inputs.end());
    ASSIGN_OR_RETURN(const Json answer, plugin->Expand(request, services));
    return ExpansionOf(answer, config, type, *plugin);
  };
  if (const auto keys = plugin->description().content_keys.find(type.name);
      keys != plugin->description().content_keys.end())
    type.files = [keys = keys->second](const Json& config) -> Result<std::vector<StageFile>> {
      std::vector<StageFile> files;
      std::error_code error;
      for (const std::string_view key : keys)
        if (std::string path(config[key].AsString()); std::filesystem::is_regular_file(path, error))
          files.push_back({.name = std::string(key), .path = std::move(path)});
      return files;
    };
  type.check = [plugin, &type, &services](const Json& config, Schema&) -> Status {
    return plugin->Check(PluginRequest(type, config), services);
  };
  type.check_promised = [plugin, &type, &services](const Json& config, const Schema&,
                                                   const Promise& promise) -> Status {
    Json request = PluginRequest(type, config);
    request["makers"][promise.named_input] =
        MakerForPlugin(promise.maker, promise.config, promise.facts, promise.schema.splits);
    return plugin->Check(request, services);
  };
  type.prepare = [plugin, &type, &services](const Json& config) -> Status {
    return plugin->Prepare(PluginRequest(type, config), services);
  };
  JobKind& job = std::get<JobKind>(type.kind);
  job.prepare_run = [plugin, &type, &services](const Json& config, const Json& about,
                                               bool dry_run) -> Status {
    Json request = PluginRequest(type, config);
    request[dry_run ? "dry_run" : "stage"] = about;
    return plugin->Prepare(request, services);
  };
  job.find_position = [plugin, &type, &host = host_](const Json& config) -> Result<JobPosition> {
    const PluginServices with_metadata = {.log = host.log, .metadata = host.metadata};
    ASSIGN_OR_RETURN(Json answer, plugin->FindHost(PluginRequest(type, config), with_metadata));
    return PositionOf(std::move(answer), *plugin);
  };
  job.make = [plugin, &type,
              &host = host_](const StageContext& context) -> Result<std::unique_ptr<JobStage>> {
    return MakePluginJob(plugin, type, context, host);
  };
  return &type;
}

}  // namespace pipeline
