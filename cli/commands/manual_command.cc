#include "cli/commands/commands.h"
#include "cli/commands/plugin_commands.h"
#include "cli/terminal/manual_page.h"
#include "cli/terminal/standard_output.h"

namespace pipeline {

Command ManualCommand() {
  return {
      .name = "manual",
      .help = "Print the manual page: pipe manual | man -l -",
      .run =
          [](const Call& call) {
            return PrintText(ManualPage(WithPluginCommands(CommandTableOf(call.commands)), PIPE_VERSION));
          },
  };
}

}  // namespace pipeline
