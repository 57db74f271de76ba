#include "cli/commands/commands.h"

namespace pipeline {

std::vector<Command> Commands() {
  return {
      RunCommand(),       RetryCommand(),      PlanCommand(),   WorkerCommand(),  SubmitCommand(),
      TpuCommand(),       StatusCommand(),     ReportCommand(), RunsCommand(),    ValidateCommand(),
      GraphCommand(),     VerifyCommand(),     CatCommand(),    LsCommand(),      CpCommand(),
      DoctorCommand(),    StatsCommand(),      CleanCommand(),  PluginsCommand(), SchemaCommand(),
      ReferenceCommand(), CompletionCommand(), ManualCommand(), HelpCommand(),    ProbeCommand(),
  };
}

int RunCall(const Call& call) {
  return call.command != nullptr ? call.command->run(call) : RunPluginCommand(call);
}

}  // namespace pipeline
