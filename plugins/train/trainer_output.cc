#include "plugins/train/trainer_output.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <stop_token>
#include <thread>
#include <utility>

#include "base/child_process.h"
#include "base/str.h"
#include "base/terminal_text.h"
#include "plugins/train/trainer_environment.h"

namespace pipeline {

namespace {

using namespace std::chrono_literals;

constexpr int kNotSo = 1;  // it has done its work, and the answer is no
constexpr int kBadWords = 64;

Status Pass(ChildProcess& child, const std::stop_token& stop) {
  std::vector<char> buffer(1 << 16);
  const bool is_terminal = isatty(STDOUT_FILENO) == 1;
  while (true) {
    ASSIGN_OR_RETURN(const std::size_t got, child.Read(buffer, stop));
    if (got == 0) return {};
    const std::string shown =
        is_terminal ? TerminalText({buffer.data(), got}) : std::string(buffer.data(), got);
    if (std::fwrite(shown.data(), 1, shown.size(), stdout) != shown.size() || std::fflush(stdout) != 0)
      return SystemError("standard output", errno);
  }
}

}  // namespace

Status PrintTrainer(const std::string& python, std::vector<std::string> words, std::string_view input,
                    const HostCall& call) {
  const TrainerCommand command = PythonCommand(python, std::move(words));
  ChildOptions options;
  options.argv = command.argv;
  options.environment = ChangedEnvironment(command.set, command.unset);
  ASSIGN_OR_RETURN(const std::unique_ptr<ChildProcess> child, ChildProcess::Start(options));
  std::stop_source stop;
  const std::jthread watch([&](const std::stop_token& off) {
    while (!off.stop_requested() && !stop.stop_requested()) {
      if (call.stopped()) stop.request_stop();
      std::this_thread::sleep_for(50ms);
    }
  });
  // If a child ends without reading, its exit gives the reason.
  const Status written = input.empty() ? Status() : child->Write(input, stop.get_token());
  child->CloseInput();
  const Status passed = Pass(*child, stop.get_token());
  if (!passed.ok()) stop.request_stop();  // nobody reads on
  const Result<ChildExit> exit = child->Wait(stop.get_token(), 2s);
  if (!passed.ok()) return passed;
  if (!exit.ok()) return exit.status();
  if (exit->ok()) return written;
  const std::string said = child->StderrTail();
  if (exit->code == kNotSo && !said.empty()) return Status(Code::kFailedPrecondition, said);
  return Status(exit->code == kBadWords ? Code::kInvalidArgument : Code::kInternal,
                StrCat("the trainer ", exit->Describe(), said.empty() ? "" : ": ", said));
}

}  // namespace pipeline
