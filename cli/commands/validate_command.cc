#include <cstddef>
#include <memory>
#include <string>

#include "base/enumeration.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/commands/commands.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/standard_output.h"
#include "cli/workspace/pipeline_loader.h"
#include "dag/pipeline_file/stage_type.h"
#include "storage/local_file.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

/// Warns about files of this machine that are absent: a run would need them, the pipeline file is correct.
/// False: a stage can never use one of them.
bool CheckFiles(const Graph& graph) {
  bool usable = true;
  const auto look = [](const StageSpec& spec, const Status& there) {
    if (!there.ok()) LogWarning(StrCat("stage '", spec.name, "': ", there.message()));
  };
  for (const Node& node : graph.nodes()) {
    const StageSpec& spec = *node.spec;
    if (const FileListKind* list = spec.type->file_list())
      look(spec, list->local_inputs(spec.config).status());
    for (const NamedInputEdge& edge : node.named_inputs) {
      const Result<std::vector<std::string>> files = edge.Files();
      if (files.status().code() == Code::kInvalidArgument) {
        LogError(StrCat("stage '", spec.name, "': ", files.status().message()));
        usable = false;
        continue;
      }
      look(spec, files.status());
      for (const std::string& file : files.ok() ? *files : std::vector<std::string>())
        if (!IsRemote(file)) look(spec, IdentifyFile(file).status());
    }
  }
  return usable;
}

int Validate(const PipelineOptions& options) {
  const std::unique_ptr<LoadedPipeline> loaded = LoadPipeline(options, LoadPurpose::kCheck);
  if (!loaded) return kExitRefused;
  if (!CheckFiles(loaded->graph)) return kExitRefused;
  for (const std::string& note : loaded->spec.notes) LogInfo(note);
  const std::size_t count = loaded->spec.unseen.size();
  const std::string unseen = count == 0 ? "" : StrCat("; ", count, " left out without --allow-plugin");
  return PrintText(StrCat(options.file, ": ", Counted(loaded->spec.stages.size(), "stage"), ", no mistakes",
                          unseen, "\n"));
}

}  // namespace

Command ValidateCommand() {
  const auto options = std::make_shared<PipelineOptions>();
  return {
      .name = "validate",
      .help = "Check the pipeline file and say every mistake in it",
      .words = PipelineWords(*options),
      .run = [options](const Call&) { return Validate(*options); },
  };
}

}  // namespace pipeline
