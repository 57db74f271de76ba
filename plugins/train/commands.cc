#include "plugins/train/commands.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "base/str.h"
#include "plugins/train/command_table.h"
#include "plugins/train/environment/environment_setup.h"
#include "plugins/train/environment/trainer_environment.h"
#include "plugins/train/fit_command.h"
#include "plugins/train/model/model_commands.h"

namespace pipeline {

namespace {

Status SetUp(const CommandWords& words, const PluginServices& call) {
  EnvironmentSetup setup;
  setup.extra = words.Flag("--extra", setup.extra);
  setup.directory = words.Flag("--dir", DefaultDirectory(setup.extra));
  setup.python = words.Flag("--python", "");
  setup.wheels = words.Flag("--wheels", "");
  if (words.flags.contains("--python") && setup.python.empty())
    return Status(Code::kInvalidArgument, "--python: must name an interpreter");
  if (words.flags.contains("--wheels") && setup.wheels.empty())
    return Status(Code::kInvalidArgument, "--wheels: must name a directory");
  if (setup.directory.empty()) return Status(Code::kInvalidArgument, "--dir: must name a directory");
  ASSIGN_OR_RETURN(const bool stood, SetUpEnvironment(setup, call));
  std::printf("%s: %s\n", setup.directory.c_str(), stood ? "is right already" : "made");
  return {};
}

Status Fetch(const CommandWords& words, const PluginServices& call) {
  WheelFetch fetch;
  fetch.directory = words.alone[1];
  if (fetch.directory.empty()) return Status(Code::kInvalidArgument, "DIR: must name a directory");
  fetch.extra = words.Flag("--extra", fetch.extra);
  fetch.python = words.Flag("--python", "");
  fetch.version = words.Flag("--for", "");
  RETURN_IF_ERROR(FetchWheels(fetch, call));
  std::printf("%s: has the wheels now; on the other machine: pipe trainer setup%s --wheels %s\n",
              fetch.directory.c_str(), fetch.extra == "cpu" ? "" : StrCat(" --extra ", fetch.extra).c_str(),
              Quoted(fetch.directory).c_str());
  return {};
}

Status CheckEnvironment(const CommandWords& words) {
  const std::string directory = words.Flag("--dir", kDefaultEnvironment);
  std::error_code error;
  if (!std::filesystem::exists(directory, error))
    return Status(Code::kNotFound, std::string(FindPython(directory).status().message()));
  ASSIGN_OR_RETURN(const std::string python, FindPython(directory));
  std::printf("%s: right, its interpreter is %s\n", directory.c_str(), python.c_str());
  return {};
}

/// The first word that is neither a flag nor the value of one; empty: none.
std::string BelowTrainer(const std::vector<std::string>& arguments) {
  bool value = false;
  for (const std::string& word : arguments) {
    const bool flag = word.starts_with("--");
    if (!flag && !value) return word;
    value = flag && word.find('=') == std::string::npos;
  }
  return {};
}

Status RunTrainer(const std::vector<std::string>& arguments, const PluginServices& call) {
  if (!arguments.empty() && arguments.front() == "fit")
    return RunFit({arguments.begin() + 1, arguments.end()}, call);
  const std::string below = BelowTrainer(arguments);
  if (below != "setup" && below != "wheels" && below != "check")
    return Status(Code::kInvalidArgument, UsageOf(TrainCommandOf("trainer")));
  ASSIGN_OR_RETURN(const CommandWords words, ParseCommandWords(TrainCommandOf("trainer", below), arguments));
  if (words.alone.size() != (below == "wheels" ? 2 : 1))
    return Status(Code::kInvalidArgument, UsageOf(TrainCommandOf("trainer", below)));
  if (below == "setup") return SetUp(words, call);
  return below == "wheels" ? Fetch(words, call) : CheckEnvironment(words);
}

}  // namespace

int RunTrainCommand(const std::vector<std::string>& words, const PluginServices& call) {
  const std::vector<std::string> arguments(words.begin() + 1, words.end());
  const auto run = [&] {
    if (words.front() == "sample") return RunSample(arguments, call);
    if (words.front() == "eval") return RunEval(arguments, call);
    if (words.front() == "export") return RunExport(arguments, call);
    if (words.front() == "predict") return RunPredict(arguments, call);
    if (words.front() == "tensorboard") return RunTensorBoard(arguments, call);
    return RunTrainer(arguments, call);
  };
  const Status done = run();
  (void)std::fflush(stdout);
  if (done.ok()) return 0;
  if (done.code() != Code::kCancelled) call.log(Level::kError, StrCat(words.front(), ": ", done.message()));
  // kNotFound: there is nothing that the command could work on.
  return done.code() == Code::kInvalidArgument || done.code() == Code::kNotFound ? 2 : 1;
}

}  // namespace pipeline
