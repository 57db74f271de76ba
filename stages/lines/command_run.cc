#include "stages/lines/command_run.h"

#include <utility>

#include "base/mutex.h"
#include "base/str.h"

namespace pipeline {

namespace {

constexpr std::size_t kPipeBytes = 64 << 10;   // the size of a pipe
constexpr std::size_t kChunks = 8;             // the most chunks that wait for Read
constexpr std::size_t kWriteBytes = 16 << 10;  // a write of so many bytes counts as progress
constexpr std::size_t kStderrBytes = 2 << 10;
constexpr std::chrono::milliseconds kGrace(500);

}  // namespace

CommandRun::CommandRun(std::vector<std::string> argv, std::chrono::milliseconds timeout, Feed feed,
                       const std::stop_token& stop, std::string owner)
    : argv_(std::move(argv)),
      timeout_(timeout),
      feed_(std::move(feed)),
      owner_(std::move(owner)),
      wanted_stop_(stop) {
  relay_.emplace(stop, [this] { stop_.request_stop(); });
  thread_ = std::jthread([this] { RunChild(); });
}

CommandRun::~CommandRun() { Abandon(); }

void CommandRun::Abandon() {
  stop_.request_stop();
  if (thread_.joinable()) thread_.join();
}

Result<std::string> CommandRun::Read() {
  Lock lock(mutex_);
  std::uint64_t seen = progress_;
  auto deadline = std::chrono::steady_clock::now() + timeout_;
  while (output_.empty() && !ended_) {
    const bool news = changed_.WaitUntil(lock, deadline, [&]() REQUIRES(mutex_) {
      return !output_.empty() || ended_.has_value() || progress_ != seen;
    });
    if (progress_ != seen) {
      seen = progress_;
      deadline = std::chrono::steady_clock::now() + timeout_;
    } else if (!news) {
      timed_out_ = true;
      stop_.request_stop();
      changed_.Wait(lock, [&]() REQUIRES(mutex_) { return ended_.has_value(); });
    }
  }
  // After a failure the remaining output is useless, and its length is random.
  if (ended_ && !ended_->ok()) return *ended_;
  if (output_.empty()) return std::string();
  std::string chunk = std::move(output_.front());
  output_.pop_front();
  changed_.NotifyAll();
  return chunk;
}

void CommandRun::Progress() {
  const Lock lock(mutex_);
  ++progress_;
  changed_.NotifyAll();
}

void CommandRun::RunChild() {
  Status outcome;
  const ChildOwner owner(owner_);
  Result<std::unique_ptr<ChildProcess>> started =
      ChildProcess::Start({.argv = argv_, .stderr_bytes = kStderrBytes});
  if (started.ok()) {
    ChildProcess& child = **started;
    std::jthread writer([this, &child] { WriteInput(child); });
    ReadOutput(child);
    writer.join();  // Wait closes the pipe that `writer` writes to
    const Result<ChildExit> exit = child.Wait(stop_.get_token(), kGrace);
    said_ = child.StderrTail();
    outcome = OutcomeOf(exit);
  } else {
    outcome = std::move(started).status();
  }
  const Lock lock(mutex_);
  ended_ = std::move(outcome);
  changed_.NotifyAll();
}

void CommandRun::WriteInput(ChildProcess& child) {
  std::string bytes;
  Status failure;
  while (true) {
    const Result<bool> more = feed_(bytes);
    if (!more.ok()) {
      failure = more.status();
      break;
    }
    if (!*more) return child.CloseInput();
    std::string_view rest = bytes;
    while (!rest.empty() && failure.ok()) {
      const std::string_view part = rest.substr(0, kWriteBytes);
      failure = child.Write(part, stop_.get_token());
      rest.remove_prefix(part.size());
      if (failure.ok()) Progress();
    }
    if (!failure.ok()) break;
  }
  {
    const Lock lock(mutex_);
    if (failure.code() == Code::kUnavailable)
      input_refused_ = true;
    else if (!broken_)
      broken_ = std::move(failure);
    if (input_refused_) return;  // the command may still write output and has an exit code
  }
  stop_.request_stop();
}

void CommandRun::ReadOutput(ChildProcess& child) {
  const std::stop_token stop = stop_.get_token();
  while (true) {
    std::string chunk(kPipeBytes, '\0');
    Result<std::size_t> got = child.Read(chunk, stop);
    Lock lock(mutex_);
    if (!got.ok()) {
      if (!broken_) broken_ = std::move(got).status();
      break;
    }
    if (*got == 0) return;
    chunk.resize(*got);
    ++progress_;
    changed_.Wait(lock, stop, [this]() REQUIRES(mutex_) { return output_.size() < kChunks; });
    output_.push_back(std::move(chunk));
    changed_.NotifyAll();
  }
  stop_.request_stop();
}

/// Returns the outcome of the run; from several failures, the one that says most about the cause.
Status CommandRun::OutcomeOf(const Result<ChildExit>& exit) {
  const Lock lock(mutex_);
  if (wanted_stop_.stop_requested()) return Status(Code::kCancelled, "stopped");
  if (broken_ && broken_->code() != Code::kCancelled) return *broken_;
  if (timed_out_) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout_).count();
    return Status(Code::kUnavailable,
                  StrCat("neither read nor wrote for ",
                         seconds > 0 ? StrCat(seconds, " s") : StrCat(timeout_.count(), " ms"),
                         "; it hangs, or `timeout` is too short for it"));
  }
  if (!exit.ok()) return exit.status();
  if (!exit->ok()) return Status(Code::kInvalidArgument, exit->Describe());
  if (input_refused_)
    return Status(Code::kInvalidArgument, "ended, with exit code 0, before it had read all records");
  return {};
}

}  // namespace pipeline
