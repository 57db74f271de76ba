#include "cli/commands/commands.h"

#include "cli/commands/cat_command.h"
#include "cli/commands/clean_command.h"
#include "cli/commands/completion_command.h"
#include "cli/commands/cp_command.h"
#include "cli/commands/doctor_command.h"
#include "cli/commands/graph_command.h"
#include "cli/commands/ls_command.h"
#include "cli/commands/manual_command.h"
#include "cli/commands/plan_command.h"
#include "cli/commands/plugin_commands.h"
#include "cli/commands/plugins_command.h"
#include "cli/commands/probe_command.h"
#include "cli/commands/reference_command.h"
#include "cli/commands/report_command.h"
#include "cli/commands/retry_command.h"
#include "cli/commands/run_command.h"
#include "cli/commands/runs_command.h"
#include "cli/commands/schema_command.h"
#include "cli/commands/stats_command.h"
#include "cli/commands/status_command.h"
#include "cli/commands/submit_command.h"
#include "cli/commands/validate_command.h"
#include "cli/commands/verify_command.h"
#include "cli/commands/worker_command.h"

namespace pipeline {

std::vector<Command> Commands() {
  return {
      RunCommand(),        RetryCommand(),  PlanCommand(),    WorkerCommand(),   SubmitCommand(),
      StatusCommand(),     ReportCommand(), RunsCommand(),    ValidateCommand(), GraphCommand(),
      VerifyCommand(),     CatCommand(),    LsCommand(),      CpCommand(),       DoctorCommand(),
      StatsCommand(),      CleanCommand(),  PluginsCommand(), SchemaCommand(),   ReferenceCommand(),
      CompletionCommand(), ManualCommand(), HelpCommand(),    ProbeCommand(),
  };
}

int RunCall(const Call& call) {
  return call.command != nullptr ? call.command->run(call) : RunPluginCommand(call);
}

}  // namespace pipeline
