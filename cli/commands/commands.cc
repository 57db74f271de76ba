#include "cli/commands/commands.h"

#include <array>
#include <cstdio>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/str.h"
#include "cli/commands/cat_command.h"
#include "cli/commands/clean_command.h"
#include "cli/commands/cp_command.h"
#include "cli/commands/doctor_command.h"
#include "cli/commands/ls_command.h"
#include "cli/commands/plan_command.h"
#include "cli/commands/plugin_commands.h"
#include "cli/commands/report_command.h"
#include "cli/commands/run_command.h"
#include "cli/commands/runs_command.h"
#include "cli/commands/stats_command.h"
#include "cli/commands/status_command.h"
#include "cli/commands/verify_command.h"
#include "cli/commands/worker_command.h"
#include "cli/terminal/args.h"
#include "cli/terminal/completion.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/manual_page.h"
#include "cli/workspace/pipeline_loader.h"
#include "dag/pipeline_file/graph_drawing.h"
#include "dag/pipeline_file/reference.h"
#include "stages/all/builtin.h"
#include "storage/local_file.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

int Print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  return kExitDone;
}

/// What of the files of this machine is not there: a run would need it, the file is none the worse for it.
void ReportMissing(const Graph& graph) {
  const auto look = [](const StageSpec& spec, const Status& there) {
    if (!there.ok()) LogWarning(StrCat("stage '", spec.name, "': ", there.message()));
  };
  for (const Node& node : graph.nodes()) {
    const StageSpec& spec = *node.spec;
    if (spec.type->local_inputs) look(spec, spec.type->local_inputs(spec.config).status());
    for (const NamedInputEdge& edge : node.named_inputs)
      if (edge.node < 0 && !IsRemote(edge.file)) look(spec, IdentifyFile(edge.file).status());
  }
}

int ValidateCommand(const Options& options) {
  const std::unique_ptr<LoadedPipeline> loaded = LoadPipeline(options);
  if (!loaded) return kExitRefused;
  ReportMissing(loaded->graph);
  const std::size_t count = loaded->spec.unseen.size();
  const std::string unseen =
      count == 0 ? "" : "; " + std::to_string(count) + " not looked at: --allow-plugin";
  return Print(options.file + ": " + std::to_string(loaded->spec.stages.size()) + " stages, no mistakes" +
               unseen + "\n");
}

int GraphCommand(const Options& options) {
  const std::unique_ptr<LoadedPipeline> loaded = LoadPipeline(options);
  if (!loaded) return kExitRefused;
  return Print(options.graph_format == "dot" ? ToDot(loaded->graph, loaded->spec.name)
                                             : ToMermaid(loaded->graph, loaded->spec.name));
}

int SchemaCommand(const Options&) { return Print(PipelineSchema(BuiltinStages()).DumpPretty()); }

int ReferenceCommand(const Options&) { return Print(ReferenceMarkdown(BuiltinStages())); }

CommandTable WholeCommandTable() {
  CommandTable table = TheCommandTable();
  AddPluginCommands(table);
  return table;
}

int CompletionCommand(const Options& options) {
  const CommandTable table = WholeCommandTable();
  if (options.target == "zsh") return Print(ZshCompletion(table));
  return Print(options.target == "fish" ? FishCompletion(table) : BashCompletion(table));
}

int ManualCommand(const Options&) { return Print(ManualPage(WholeCommandTable(), PIPE_VERSION)); }

struct Command {
  std::string_view name;
  int (*run)(const Options&);
};

constexpr std::array kCommands = {
    Command{"run", RunCommand},
    Command{"retry", RunCommand},
    Command{"status", StatusCommand},
    Command{"validate", ValidateCommand},
    Command{"graph", GraphCommand},
    Command{"verify", VerifyCommand},
    Command{"cat", CatCommand},
    Command{"clean", CleanCommand},
    Command{"ls", LsCommand},
    Command{"cp", CpCommand},
    Command{"doctor", DoctorCommand},
    Command{"plan", PlanCommand},
    Command{"worker", WorkerCommand},
    Command{"stats", StatsCommand},
    Command{"report", ReportCommand},
    Command{"runs", RunsCommand},
    Command{"schema", SchemaCommand},
    Command{"reference", ReferenceCommand},
    Command{"completion", CompletionCommand},
    Command{"manual", ManualCommand},
    Command{"plugins", PluginsCommand},
    Command{"__probe-plugin", ProbePluginCommand},
    Command{"of a plugin", RunPluginCommand},
};

}  // namespace

int RunNamedCommand(const Options& options) {
  for (const Command& command : kCommands)
    if (command.name == options.command) return command.run(options);
  LogError("no command '" + options.command + "' [this is a bug]");
  return kExitRefused;
}

}  // namespace pipeline
