#include "cli/workspace/pipeline_loader.h"

#include <cstdlib>
#include <utility>

#include "base/log.h"
#include "base/str.h"
#include "cli/terminal/machine_memory.h"
#include "cli/workspace/dictionary_places.h"
#include "dag/pipeline_file/subset.h"
#include "stages/all/builtin.h"
#include "storage/local_file.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kLargestFile = 16 << 20;

Result<std::string> ReadText(const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<LocalFile> file, LocalFile::Open(path));
  if (file->size() > kLargestFile)
    return Status(Code::kInvalidArgument,
                  StrCat(path, ": is ", HumanBytes(file->size()), ", too large for a pipeline file"));
  std::string text(file->size(), '\0');
  if (text.empty()) return text;
  const ByteFile& bytes = *file;
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader, bytes.Open(0, {}));
  RETURN_IF_ERROR(ReadExactly(*reader, text));
  return text;
}

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
                                             std::string* text) {
  Result<std::string> read = ReadText(options.file);
  if (!read.ok()) {
    LogError(read.status().message());
    return nullptr;
  }
  if (text != nullptr) *text = *read;
  return LoadPipelineText(*read, options, purpose);
}

std::unique_ptr<LoadedPipeline> LoadPipelineText(const std::string& text, const PipelineOptions& options,
                                                 LoadPurpose purpose) {
  auto loaded = std::make_unique<LoadedPipeline>(BuiltinStages(FindDictionaryPlaces()));
  ParseOptions parse;
  parse.set = options.set;
  parse.environment = [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value ? std::optional<std::string>(value) : std::nullopt;
  };
  parse.plugin_stage = [&loaded, allowed = MayLoadPlugins(options, purpose)](
                           const std::string& plugin, const std::string& type) -> Result<const StageType*> {
    if (!allowed && plugin.find('/') != std::string::npos) return nullptr;
    return loaded->plugins.stages().Find(plugin, type);
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
  for (const UnseenStage& stage : loaded->spec.unseen)
    LogWarning(StrCat(options.file, ":", stage.at.line, ":", stage.at.column, ": stage '", stage.name,
                      "': is left out without --allow-plugin (", stage.why, ")"));
  for (const std::string& warning : loaded->spec.warnings) LogWarning(StrCat(options.file, ": ", warning));
  std::vector<Mistake> mistakes;
  loaded->graph = Graph::Build(loaded->spec.stages, mistakes, &loaded->registry);
  for (const Mistake& mistake : mistakes) LogError(ToString(mistake, options.file));
  if (!mistakes.empty() || !FitsMachine(options.file, purpose, loaded->spec)) return nullptr;
  return loaded;
}

}  // namespace pipeline
