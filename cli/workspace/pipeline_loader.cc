#include "cli/workspace/pipeline_loader.h"

#include <cstdlib>
#include <utility>

#include "base/log.h"
#include "base/str.h"
#include "cli/terminal/machine_memory.h"
#include "cli/terminal/typed_file.h"
#include "cli/workspace/program_places.h"
#include "dag/pipeline_file/subset.h"
#include "dag/pipeline_file/typed_value.h"
#include "dag/pipeline_file/yaml.h"
#include "stages/all/builtin.h"

namespace pipeline {

namespace {

/// Returns whether plugins that the file names are loaded: if the file runs, or if the user allows it. A
/// command that only looks at a file from elsewhere must not run code of it.
bool MayLoadPlugins(const PipelineOptions& options, LoadPurpose purpose) {
  return options.allow_plugin || purpose == LoadPurpose::kRun || purpose == LoadPurpose::kWork ||
         purpose == LoadPurpose::kOffer;
}

/// Returns false, after a message, if a run would need more memory than there is: it would be killed hours
/// later.
bool FitsMachine(const std::string& file, LoadPurpose purpose, const PipelineSpec& spec) {
  if (purpose == LoadPurpose::kRead || purpose == LoadPurpose::kWork) return true;
  const MachineMemory memory = FindMachineMemory();
  if (Fits(spec.memory_limit, memory)) return true;
  const std::string what = StrCat(file, ": limits.memory of ", HumanBytes(spec.memory_limit),
                                  " is more than the ", HumanBytes(memory.bytes), " that ", memory.of,
                                  " has; set a smaller one, in the file or with --set limits.memory=SIZE");
  const bool runs = purpose == LoadPurpose::kRun;
  if (runs)
    LogError(what);
  else
    LogWarning(what);
  return !runs;
}

}  // namespace

std::unique_ptr<LoadedPipeline> LoadPipeline(const PipelineOptions& options, LoadPurpose purpose,
                                             std::string* text, const std::string& last) {
  const std::string found = FindPipelineFile(options.file);
  if (found != options.file) LogInfo(StrCat(options.file, " is the one of the program: ", found));
  Result<std::string> read = ReadTypedFile(found);
  if (!read.ok()) {
    LogError(read.status().message());
    return nullptr;
  }
  if (text != nullptr) *text = *read;
  return LoadPipelineText(*read, options, purpose, last);
}

LoadedPipeline::LoadedPipeline(Registry types) : registry(std::move(types)) {}
LoadedPipeline::~LoadedPipeline() = default;

std::string NameOfPipeline(const std::string& file) {
  const Result<std::string> text = ReadTypedFile(FindPipelineFile(file));
  if (!text.ok()) return {};
  const ParsedYaml yaml = ParseYaml(*text);
  const YamlNode* const name = yaml.root ? yaml.root->Find("name") : nullptr;
  return name != nullptr && name->is_scalar() && IsName(name->text) ? name->text : std::string();
}

std::unique_ptr<LoadedPipeline> LoadPipelineText(const std::string& text, const PipelineOptions& options,
                                                 LoadPurpose purpose, const std::string& last) {
  auto loaded = std::make_unique<LoadedPipeline>(BuiltinStages(FindDictionaryPlaces()));
  ParseOptions parse;
  parse.set = options.set;
  parse.environment = [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value ? std::optional<std::string>(value) : std::nullopt;
  };
  const bool allowed = MayLoadPlugins(options, purpose);
  parse.plugin_stage = [&](const std::string& plugin, const std::string& type) -> Result<PluginStageType> {
    if (!allowed && plugin.find('/') != std::string::npos)
      return PluginStageType{nullptr, "--allow-plugin",
                             StrCat("its plugin ", plugin,
                                    " is named by a path, and this command runs nothing that a file names")};
    const Result<const StageType*> found = loaded->plugins.stages().Find(plugin, type);
    if (found.status().code() == Code::kNotFound && !last.empty())
      return PluginStageType{nullptr, StrCat("the plugin '", plugin, "'"),
                             std::string(found.status().message())};
    if (!found.ok()) return found.status();
    return PluginStageType{*found};
  };
  ParsedPipeline parsed = ParsePipeline(text, options.file, loaded->registry, parse);
  for (const Mistake& mistake : parsed.mistakes) LogError(ToString(mistake, options.file));
  if (!parsed.spec) return nullptr;
  loaded->spec = std::move(*parsed.spec);
  if (!options.subset.empty())
    if (const Status applied = ApplySubset(options.subset, loaded->spec); !applied.ok()) {
      LogError(applied.message());
      return nullptr;
    }
  for (const UnseenStage& stage : loaded->spec.unseen) {
    const std::string what =
        StrCat(options.file, ":", stage.at.line, ":", stage.at.column, ": stage '", stage.name,
               "': is left out without ", stage.without, " (", stage.why, ")");
    if (stage.name == last) {
      LogError(what);
      return nullptr;
    }
    LogWarning(what);
  }
  if (purpose != LoadPurpose::kWork)
    for (const std::string& warning : loaded->spec.warnings) LogWarning(warning);
  std::vector<Mistake> mistakes;
  loaded->graph = Graph::Build(loaded->spec.stages, mistakes, &loaded->registry);
  for (const Mistake& mistake : mistakes) LogError(ToString(mistake, options.file));
  if (!mistakes.empty() || !FitsMachine(options.file, purpose, loaded->spec)) return nullptr;
  return loaded;
}

}  // namespace pipeline
