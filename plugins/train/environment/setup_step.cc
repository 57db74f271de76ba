#include "plugins/train/environment/setup_step.h"

#include <signal.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <thread>

#include "base/child_process.h"
#include "base/str.h"
#include "plugins/train/environment/trainer_environment.h"
#include "plugins/train/trainer_process.h"

namespace pipeline {

namespace {

using namespace std::chrono_literals;

constexpr auto kGrace = 5s;
constexpr std::size_t kShownLines = 15;
constexpr std::size_t kMostAnswer = 4096;

/// Beginnings of the lines with the reason: pip and uv have the first two, a fault in pip the third, and a
/// newer pip a name behind the second and the reason behind the last. If absent: the exit code is the reason.
constexpr std::string_view kPipError = "ERROR: ", kError = "error: ", kFault = "ERROR: Exception:",
                           kSaid = "× ";

std::string ReasonIn(const std::vector<std::string>& tail) {
  const auto found = std::find_if(tail.rbegin(), tail.rend(), [](const std::string& line) {
    return line.starts_with(kPipError) || line.starts_with(kError) || line.starts_with(kSaid);
  });
  if (found == tail.rend()) return {};
  if (*found == kFault) return StrCat(": ", tail.back());
  return StrCat(": ", found->substr(found->starts_with(kSaid) ? kSaid.size() : kPipError.size()));
}

}  // namespace

Status RunStep(const SetupStep& step, const PluginServices& call) {
  TrainerCommand command;
  command.argv = step.argv;
  command.log = step.log;
  command.set = step.set;
  command.unset = {kOtherPython.begin(), kOtherPython.end()};
  // A process without a listener has a channel for events, which nobody uses here.
  command.output = step.output ? step.output : [](std::string_view) {};
  ASSIGN_OR_RETURN(const std::unique_ptr<TrainerProcess> process, TrainerProcess::Start(command));
  const TrainerProcess::Take nothing = [](const Json&) {};
  bool stopped = false;
  auto since = std::chrono::steady_clock::now();
  while (!process->HasEnded()) {
    const auto now = std::chrono::steady_clock::now();
    if (!stopped && call.stopped()) stopped = true, since = now, process->Signal(SIGTERM);
    if (stopped && now - since > kGrace) process->Signal(SIGKILL);
    std::this_thread::sleep_for(50ms);
  }
  ASSIGN_OR_RETURN(const ChildExit exit, process->Finish(nothing));
  if (stopped) return Status(Code::kCancelled, "stopped");
  if (exit.ok()) return {};
  const std::vector<std::string> tail = process->log().Tail();
  for (std::size_t at = tail.size() - std::min(tail.size(), kShownLines); at < tail.size(); ++at)
    call.log(Level::kInfo, StrCat("| ", tail[at]));
  return Status(Code::kUnavailable,
                StrCat(step.name, " ", exit.Describe(), ReasonIn(tail), "; its whole output: ", step.log));
}

Result<std::string> AnswerOf(const std::vector<std::string>& argv, const PluginServices& call) {
  ChildOptions options;
  options.argv = argv;
  options.environment = ChangedEnvironment({}, {kOtherPython.begin(), kOtherPython.end()});
  Result<std::unique_ptr<ChildProcess>> child = ChildProcess::Start(options);
  if (!child.ok()) return Status(Code::kFailedPrecondition, std::string(child.status().message()));
  (*child)->CloseInput();
  std::string answer;
  std::array<char, kMostAnswer> buffer = {};
  while (answer.size() < kMostAnswer) {
    ASSIGN_OR_RETURN(const std::size_t got, (*child)->Read(buffer, call.stop));
    if (got == 0) break;
    answer.append(buffer.data(), got);
  }
  ASSIGN_OR_RETURN(const ChildExit exit, (*child)->Wait(call.stop, 2s));
  if (!exit.ok()) return Status(Code::kFailedPrecondition, exit.Describe());
  return answer;
}

}  // namespace pipeline
