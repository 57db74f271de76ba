#include <pthread.h>

#include <cstddef>
#include <cstdio>
#include <variant>
#include <vector>

#include "base/terminal_text.h"
#include "cli/commands/commands.h"
#include "cli/terminal/args.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/process_setup.h"
#include "cli/terminal/standard_output.h"
#include "stages/tokenizer/training_child.h"
#include "storage/remote/remote_schemes.h"

namespace {

/// `ulimit -s` is the size of the threads' stacks, too, and a small one overflows without a word.
void GiveThreadsRoom() {
  constexpr std::size_t kLeast = 1 << 20, kUsual = 8 << 20;
  pthread_attr_t attributes;
  if (pthread_getattr_default_np(&attributes) != 0) return;
  std::size_t size = 0;
  if (pthread_attr_getstacksize(&attributes, &size) == 0 && size < kLeast &&
      pthread_attr_setstacksize(&attributes, kUsual) == 0)
    pthread_setattr_default_np(&attributes);  // on failure the threads have what they would have had
  pthread_attr_destroy(&attributes);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace pipeline;
  GiveThreadsRoom();
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
  if (const Status armed = InstallKillSwitch(); !armed.ok()) return Refuse(armed);
  return FinishStandardOutput(RunCall(std::get<Call>(parsed)));
}
