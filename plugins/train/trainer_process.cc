#include "plugins/train/trainer_process.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/str.h"

namespace pipeline {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMostAtOnce = 256 << 10;
constexpr std::size_t kMostAfterEnd = 1
                                      << 20;  // a pipe holds 64 KiB; more comes from what outlived its group
constexpr auto kOutputAfterEnd = 500ms;

std::string_view NameOf(std::string_view variable) { return variable.substr(0, variable.find('=')); }

}  // namespace

std::vector<std::string> ChangedEnvironment(const std::vector<std::string>& set,
                                            const std::vector<std::string>& unset) {
  std::vector<std::string> all = set;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view name = NameOf(*variable);
    const auto is_it = [&](const std::string& other) { return NameOf(other) == name; };
    if (std::none_of(set.begin(), set.end(), is_it) && std::none_of(unset.begin(), unset.end(), is_it))
      all.emplace_back(*variable);
  }
  return all;
}

Result<EventChannel> EventChannel::Make() {
  std::array<int, 2> ends = {};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return SystemError("making a pipe", errno);
  EventChannel channel{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
  if (channel.write.get() <= 2)
    channel.write = FileDescriptor(fcntl(channel.write.get(), F_DUPFD_CLOEXEC, 3));
  if (!channel.write.is_open() || fcntl(channel.read.get(), F_SETFL, O_NONBLOCK) != 0)
    return SystemError("making a pipe", errno);
  return channel;
}

std::string EventChannel::Variable() const { return StrCat("PIPE_EVENTS_FD=", write.get()); }

Result<std::unique_ptr<TrainerProcess>> TrainerProcess::Start(const TrainerCommand& command) {
  ChildOptions options;
  options.argv = command.argv;
  options.directory = command.directory;
  options.joined = true;
  std::vector<std::string> set = command.set;
  EventChannel channel;
  if (!command.output) {
    ASSIGN_OR_RETURN(channel, EventChannel::Make());
    set.push_back(channel.Variable());
    options.inherited = {channel.write.get()};
  }
  options.environment = ChangedEnvironment(set, command.unset);
  std::unique_ptr<TrainerProcess> process(new TrainerProcess(command, std::move(channel.read)));
  ASSIGN_OR_RETURN(process->child_, ChildProcess::Start(options));
  process->child_->CloseInput();
  process->output_ =
      std::jthread([self = process.get()](const std::stop_token& stop) { self->KeepOutput(stop); });
  return process;
}

TrainerProcess::TrainerProcess(const TrainerCommand& command, FileDescriptor channel)
    : log_(command.log), hear_output_(command.output), channel_(std::move(channel)) {}

TrainerProcess::~TrainerProcess() {
  if (child_) child_->Signal(SIGKILL);
}

void TrainerProcess::ReadEvents(const Take& take) {
  std::vector<char> buffer(1 << 16);  // a stack may be smaller
  for (std::size_t all = 0; channel_.is_open() && all < kMostAtOnce;) {
    const ssize_t got = read(channel_.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
      channel_ = FileDescriptor();
      return;
    }
    all += static_cast<std::size_t>(got);
    lines_.Feed({buffer.data(), static_cast<std::size_t>(got)}, take);
  }
}

void TrainerProcess::KeepOutput(const std::stop_token& stop) {
  std::vector<char> buffer(1 << 16);
  while (true) {
    const Result<std::size_t> got = child_->Read(buffer, stop);
    if (!got.ok() || *got == 0) return;
    log_.Append({buffer.data(), *got});
    if (hear_output_) hear_output_({buffer.data(), *got});
  }
}

Result<ChildExit> TrainerProcess::Finish(const Take& take) {
  const Result<ChildExit> exit = child_->Wait({}, 0ms);
  // Its output is in the pipe already. If another process holds the pipe open, the end never comes.
  std::jthread alarm([&](const std::stop_token& off) {
    for (auto left = kOutputAfterEnd; left > 0ms && !off.stop_requested(); left -= 5ms)
      std::this_thread::sleep_for(5ms);
    output_.request_stop();
  });
  for (std::size_t rounds = 0; rounds < kMostAfterEnd / kMostAtOnce && channel_.is_open(); ++rounds)
    ReadEvents(take);
  lines_.End();
  channel_ = FileDescriptor();
  if (output_.joinable()) output_.join();
  return exit;
}

}  // namespace pipeline
