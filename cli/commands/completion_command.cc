#include <memory>
#include <string>

#include "cli/commands/commands.h"
#include "cli/commands/plugin_commands.h"
#include "cli/terminal/completion.h"
#include "cli/terminal/standard_output.h"

namespace pipeline {

namespace {

int PrintCompletion(const std::string& shell, const Call& call) {
  const CommandTable table = WithPluginCommands(CommandTableOf(call.commands));
  if (shell == "zsh") return PrintText(ZshCompletion(table));
  return PrintText(shell == "fish" ? FishCompletion(table) : BashCompletion(table));
}

}  // namespace

Command CompletionCommand() {
  const auto shell = std::make_shared<std::string>();
  return {
      .name = "completion",
      .help = "Print the completion of these words for a shell: source <(pipe completion bash)",
      .words = {{.value = "SHELL",
                 .help = "bash, zsh or fish",
                 .required = true,
                 .choices = {"bash", "zsh", "fish"},
                 .to = shell.get()}},
      .run = [shell](const Call& call) { return PrintCompletion(*shell, call); },
  };
}

}  // namespace pipeline
