#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/str.h"
#include "cli/commands/commands.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/standard_output.h"
#include "cli/workspace/plugins.h"

namespace pipeline {

namespace {

std::string Section(const Plugin& plugin) {
  std::string text = StrCat(plugin.name(), " ", plugin.version(), "  ", plugin.path(), "\n");
  for (const StageType& stage : plugin.description().stages)
    text += StrCat("  stage    ", stage.name.substr(plugin.name().size() + 1), "  ", stage.help, "\n");
  for (const CommandEntry& command : plugin.description().commands)
    text += StrCat("  command  pipe ", command.name, "  ", command.help, "\n");
  for (const FormVersion& form : plugin.description().forms)
    text += StrCat("  format   ", form.name, "  ", form.newest, "\n");
  return text;
}

int ListPlugins() {
  Plugins plugins;
  const std::vector<std::string> paths = plugins.loader().List();
  Output out(STDOUT_FILENO);
  bool all = true;
  for (const std::string& path : paths) {
    const Result<std::shared_ptr<const Plugin>> plugin = plugins.loader().Load(path);
    if (plugin.ok()) {
      out.Write(Section(**plugin));
    } else {
      all = false;
      LogError(plugin.status().message());
    }
  }
  if (paths.empty()) LogInfo("no plugins are found; PIPE_PLUGINS names the directories that hold some");
  return FinishOutput(out, !all ? kExitFailed : paths.empty() ? kExitRefused : kExitDone);
}

}  // namespace

Command PluginsCommand() {
  return {
      .name = "plugins",
      .help = "List the plugins that are found, with their stages and commands",
      .run = [](const Call&) { return ListPlugins(); },
  };
}

}  // namespace pipeline
