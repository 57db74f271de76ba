#include "plugins/train/trainer_output.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <stop_token>
#include <thread>
#include <utility>

#include "base/child_process.h"
#include "base/str.h"
#include "base/terminal_text.h"
#include "plugins/train/environment/trainer_environment.h"
#include "plugins/train/event_lines.h"
#include "plugins/train/trainer_process.h"

namespace pipeline {

namespace {

using namespace std::chrono_literals;

constexpr int kNotSo = 1;  // it has done its work, and the answer is no
constexpr int kBadWords = 64;
constexpr std::size_t kMostWarning = 2000;  // bytes
constexpr int kPollMilliseconds = 100;      // milliseconds between two looks at a stop

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

/// Gives what `filter` returns of `input` to `child`, until its end or `stop`.
Status FeedFrom(int input, const InputFilter& filter, ChildProcess& child, const std::stop_token& stop) {
  std::vector<char> buffer(1 << 16);
  while (!stop.stop_requested()) {
    pollfd ready = {input, POLLIN, 0};
    const int found = poll(&ready, 1, kPollMilliseconds);
    if (found == 0 || (found < 0 && errno == EINTR)) continue;
    const ssize_t got = found < 0 ? -1 : read(input, buffer.data(), buffer.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) return SystemError("the input", errno);
    ASSIGN_OR_RETURN(const std::string passed, filter({buffer.data(), static_cast<std::size_t>(got)}));
    if (!passed.empty()) RETURN_IF_ERROR(child.Write(passed, stop));
    if (got == 0) return {};
  }
  return {};
}

/// Tells the events `warn` that a child has left in its channel: they fit into a pipe.
void TellWarnings(int channel, const PluginServices& call) {
  std::vector<char> buffer(1 << 16);
  EventLines lines;
  for (ssize_t got = 0; (got = read(channel, buffer.data(), buffer.size())) > 0;)
    lines.Feed({buffer.data(), static_cast<std::size_t>(got)}, [&call](const Json& event) {
      if (event["kind"].AsString() == "warn")
        call.log(Level::kWarning, Readable(event["text"].AsString(), kMostWarning));
    });
}

/// Gives a child its input; the end of it is told by the caller.
using Feed = std::function<Status(ChildProcess& child, const std::stop_token& stop)>;

Status RunChild(const std::string& python, std::vector<std::string> words, const Feed& feed,
                const PluginServices& call) {
  const TrainerCommand command = PythonCommand(python, std::move(words));
  ASSIGN_OR_RETURN(EventChannel channel, EventChannel::Make());
  ChildOptions options;
  options.argv = command.argv;
  std::vector<std::string> set = command.set;
  set.push_back(channel.Variable());
  options.environment = ChangedEnvironment(set, command.unset);
  options.inherited = {channel.write.get()};
  ASSIGN_OR_RETURN(const std::unique_ptr<ChildProcess> child, ChildProcess::Start(options));
  channel.write = FileDescriptor();
  std::stop_source stop, fed;
  const std::stop_callback both(call.stop, [&] {
    stop.request_stop();
    fed.request_stop();
  });
  Status written;
  std::jthread feeder([&] {
    written = feed(*child, fed.get_token());
    child->CloseInput();
  });
  const Status passed = Pass(*child, stop.get_token());
  fed.request_stop();  // it reads no more
  feeder.join();
  if (!passed.ok()) stop.request_stop();  // nobody reads on
  const Result<ChildExit> exit = child->Wait(stop.get_token(), 2s);
  if (!passed.ok()) return passed;
  if (!exit.ok()) return exit.status();
  TellWarnings(channel.read.get(), call);
  if (exit->ok()) return written.code() == Code::kCancelled ? Status() : written;
  // If a child ends without reading, its exit gives the reason.
  const std::string said = child->StderrTail();
  if (exit->code == kNotSo && !said.empty()) return Status(Code::kFailedPrecondition, said);
  return Status(exit->code == kBadWords ? Code::kInvalidArgument : Code::kInternal,
                StrCat("the trainer ", exit->Describe(), said.empty() ? "" : ": ", said));
}

}  // namespace

Status PrintTrainer(const std::string& python, std::vector<std::string> words, std::string_view input,
                    const PluginServices& call) {
  const auto feed = [input](ChildProcess& child, const std::stop_token& stop) {
    return input.empty() ? Status() : child.Write(input, stop);
  };
  return RunChild(python, std::move(words), feed, call);
}

Status StreamTrainer(const std::string& python, std::vector<std::string> words, int input,
                     const InputFilter& filter, const PluginServices& call) {
  const auto feed = [&](ChildProcess& child, const std::stop_token& stop) {
    return FeedFrom(input, filter, child, stop);
  };
  return RunChild(python, std::move(words), feed, call);
}

}  // namespace pipeline
