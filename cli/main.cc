#include <cstdio>
#include <string>
#include <variant>
#include <vector>

#include "base/log.h"
#include "base/terminal_text.h"
#include "cli/commands/commands.h"
#include "cli/commands/version_text.h"
#include "cli/terminal/args.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/kill_switch.h"
#include "cli/terminal/last_words.h"
#include "cli/terminal/standard_output.h"
#include "stages/tokenizer/training_child.h"
#include "storage/remote/remote_schemes.h"

int main(int argc, char** argv) {
  using namespace pipeline;
  PrepareProcess();
  InstallSchemes();
  SayLastWords(kExitFailed);
  if (argc == 2 && argv[1] == kTrainingCommand) return RunTrainingChild();
  const std::vector<Command> commands = Commands();
  const std::variant<Call, Reply> parsed = ParseArgs(commands, VersionText, argc, argv);
  if (const Reply* reply = std::get_if<Reply>(&parsed)) {
    std::fputs(TerminalText(reply->text).c_str(), reply->exit_code == 0 ? stdout : stderr);
    return FinishStandardOutput(reply->exit_code);
  }
  if (const Status armed = InstallKillSwitch(); !armed.ok()) {
    LogError(armed.message());
    return kExitRefused;
  }
  return FinishStandardOutput(RunCall(std::get<Call>(parsed)));
}
