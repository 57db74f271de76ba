#include <cstdio>
#include <memory>
#include <string>

#include "base/terminal_text.h"
#include "cli/commands/commands.h"
#include "cli/terminal/exit_code.h"
#include "plugins/load_plugin.h"
#include "plugins/loader.h"

namespace pipeline {

namespace {

int Probe(const std::string& path) {
  const Result<std::shared_ptr<const Plugin>> plugin = LoadPlugin(path);
  if (plugin.ok()) return kExitDone;
  std::fprintf(stderr, "%s\n", TerminalText(plugin.status().message()).c_str());
  return kProbeRefused;
}

}  // namespace

Command ProbeCommand() {
  const auto path = std::make_shared<std::string>();
  return {
      .name = "__probe-plugin",
      .hidden = true,
      .words = {{.value = "PATH", .help = "", .required = true, .to = path.get()}},
      .run = [path](const Call&) { return Probe(*path); },
  };
}

}  // namespace pipeline
