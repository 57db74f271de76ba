#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "base/child_process.h"
#include "base/str.h"
#include "base/terminal_text.h"
#include "base/wait.h"
#include "plugins/train/command_table.h"
#include "plugins/train/environment/environment_setup.h"
#include "plugins/train/environment/trainer_environment.h"
#include "plugins/train/model/model_commands.h"
#include "plugins/train/model/named_run.h"
#include "plugins/train/model/run_curves.h"

namespace pipeline {

namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr auto kRefresh = 10s;  // between two looks for new curves; TensorBoard itself looks every 5 s
constexpr auto kGrace = 3s;
constexpr std::size_t kMostLine = 2000;
/// In the line of TensorBoard that tells its address, before and behind the address.
constexpr std::string_view kServes = " at http", kServesEnd = " (Press";

bool IsPipelineFile(const std::string& place) {
  std::error_code error;
  return place.ends_with(".yaml") || place.ends_with(".yml") || fs::is_regular_file(place, error);
}

/// The locations of the stages `train` in a pipeline file.
Result<std::vector<RunCurves::Place>> PlacesOfFile(const std::string& file, const CommandWords& words,
                                                   const PluginServices& call) {
  Json request;
  request["file"] = file;
  ASSIGN_OR_RETURN(request["set"], SettingsOf(words));
  ASSIGN_OR_RETURN(const Json answer, call.pipeline(request));
  std::vector<RunCurves::Place> places;
  for (const Json& stage : answer["stages"].AsArray())
    if (stage["type"].AsString() == "train")
      places.push_back({std::string(stage["out"].AsString()), /*may_come=*/true});
  if (places.empty()) return Status(Code::kInvalidArgument, StrCat(file, ": has no stage `train`"));
  return places;
}

Result<std::vector<RunCurves::Place>> PlacesOf(const CommandWords& words, const PluginServices& call) {
  std::vector<RunCurves::Place> places;
  bool reads_file = false;
  for (const std::string& place : words.alone) {
    if (!IsPipelineFile(place)) {
      places.push_back({place});
      continue;
    }
    reads_file = true;
    ASSIGN_OR_RETURN(std::vector<RunCurves::Place> of_file, PlacesOfFile(place, words, call));
    std::move(of_file.begin(), of_file.end(), std::back_inserter(places));
  }
  if (!reads_file && !words.repeated.empty())
    return Status(Code::kInvalidArgument, "--set: no pipeline file is named, so it means nothing");
  return places;
}

/// The Python that has TensorBoard: that of `--environment`, else one of its own.
Result<std::string> PythonWithTensorBoard(const CommandWords& words, const PluginServices& call) {
  if (words.flags.contains("--environment")) {
    std::string python = AbsolutePath(StrCat(words.Flag("--environment", ""), "/bin/python"));
    if (access(python.c_str(), X_OK) == 0) return python;
    return Status(Code::kNotFound,
                  StrCat("--environment: there is no ", python,
                         "; leave it out, and TensorBoard comes into an environment of its own"));
  }
  EnvironmentSetup setup;
  setup.extra = kTensorBoard;
  setup.directory = DefaultDirectory(setup.extra);
  RETURN_IF_ERROR(SetUpEnvironment(setup, call).status());
  return FindPython(setup.directory);
}

/// Tells the address from the output of TensorBoard, and keeps its last line for a failure.
class ServerOutput {
 public:
  explicit ServerOutput(std::size_t runs) : runs_(runs) {}

  void Append(std::string_view bytes) {
    for (const char c : bytes) {
      if (c == '\n')
        TakeLine();
      else if (line_.size() < kMostLine)
        line_ += c;
    }
  }
  const std::string& last() const { return last_; }

 private:
  void TakeLine() {
    const std::size_t at = line_.find(kServes), end = line_.find(kServesEnd);
    if (at != std::string::npos && end != std::string::npos && end > at) {
      const std::size_t begin = at + kServes.size() - std::string_view("http").size();
      std::printf("%s shows the curves of %zu %s, and of those that begin; Ctrl-C ends it\n",
                  TerminalText(line_.substr(begin, end - begin)).c_str(), runs_, runs_ == 1 ? "run" : "runs");
      (void)std::fflush(stdout);
    }
    if (!line_.empty()) last_ = std::move(line_);
    line_.clear();
  }

  const std::size_t runs_;
  std::string line_, last_;
};

std::vector<std::string> WordsFor(const std::string& python, const std::string& directory,
                                  const CommandWords& words) {
  std::vector<std::string> argv = {python, "-m", "tensorboard.main", "--logdir", directory};
  for (const char* flag : {"--host", "--port"})
    if (words.flags.contains(flag)) argv.insert(argv.end(), {flag, words.Flag(flag, "")});
  return argv;
}

/// Keeps the curves fresh until `stop`. A failure is told once, and later looks may mend it.
void KeepFresh(RunCurves& curves, const PluginServices& call, const std::stop_token& stop) {
  std::string told;
  while (WaitFor(kRefresh, stop)) {
    const Result<std::size_t> fresh = curves.Refresh();
    if (fresh.ok() || stop.stop_requested()) {
      told.clear();
    } else if (fresh.status().message() != told) {
      told = fresh.status().message();
      call.log(Level::kWarning, StrCat("the curves are those of before: ", told));
    }
  }
}

Status Serve(const std::string& python, RunCurves& curves, std::size_t runs, const CommandWords& words,
             const PluginServices& call) {
  ChildOptions options;
  options.argv = WordsFor(python, curves.directory(), words);
  options.environment = ChangedEnvironment({}, {kOtherPython.begin(), kOtherPython.end()});
  options.joined = true;
  ASSIGN_OR_RETURN(const std::unique_ptr<ChildProcess> child, ChildProcess::Start(options));
  child->CloseInput();
  const std::jthread fresh([&](const std::stop_token& ended) {
    const EitherStop stop(ended, call.stop);
    KeepFresh(curves, call, stop.token());
  });
  ServerOutput output(runs);
  std::array<char, 4096> buffer = {};
  while (true) {
    const Result<std::size_t> got = child->Read(buffer, call.stop);
    if (!got.ok() || *got == 0) break;
    output.Append({buffer.data(), *got});
  }
  ASSIGN_OR_RETURN(const ChildExit exit, child->Wait(call.stop, kGrace));
  if (call.stopped()) return Status(Code::kCancelled, "stopped");
  return Status(Code::kUnavailable,
                StrCat("TensorBoard ", exit.Describe(), ": ", Readable(output.last(), kMostLine)));
}

}  // namespace

Status RunTensorBoard(const std::vector<std::string>& arguments, const PluginServices& call) {
  const CommandEntry& command = TrainCommandOf("tensorboard");
  ASSIGN_OR_RETURN(const CommandWords words, ParseCommandWords(command, arguments));
  if (words.alone.empty()) return Status(Code::kInvalidArgument, UsageOf(command));
  RETURN_IF_ERROR(CheckNumber(words, "--port", 0, 65'535, true));
  ASSIGN_OR_RETURN(std::vector<RunCurves::Place> places, PlacesOf(words, call));
  RunCurves curves(CacheOf(words), std::move(places), call);
  ASSIGN_OR_RETURN(const std::size_t runs, curves.Refresh());
  ASSIGN_OR_RETURN(const std::string python, PythonWithTensorBoard(words, call));
  return Serve(python, curves, runs, words, call);
}

}  // namespace pipeline
