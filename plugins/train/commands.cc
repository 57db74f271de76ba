#include "plugins/train/commands.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "base/str.h"
#include "plugins/train/command_table.h"
#include "plugins/train/environment_setup.h"
#include "plugins/train/fit_command.h"
#include "plugins/train/model/model_commands.h"
#include "plugins/train/trainer_environment.h"

namespace pipeline {

namespace {

Status SetUp(const CommandWords& words, const PluginServices& call) {
  EnvironmentSetup setup;
  setup.directory = words.Flag("--dir", kDefaultEnvironment);
  setup.extra = words.Flag("--extra", setup.extra);
  setup.python = words.Flag("--python", "");
  if (words.flags.contains("--python") && setup.python.empty())
    return Status(Code::kInvalidArgument, "--python: must name an interpreter");
  if (setup.directory.empty()) return Status(Code::kInvalidArgument, "--dir: must name a directory");
  ASSIGN_OR_RETURN(const bool stood, SetUpEnvironment(setup, call));
  std::printf("%s: %s\n", setup.directory.c_str(), stood ? "is right already" : "made");
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

Status RunTrainer(const std::vector<std::string>& arguments, const PluginServices& call) {
  if (!arguments.empty() && arguments.front() == "fit")
    return RunFit({arguments.begin() + 1, arguments.end()}, call);
  const bool checks = std::find(arguments.begin(), arguments.end(), "check") != arguments.end();
  ASSIGN_OR_RETURN(const CommandWords words,
                   ParseCommandWords(TrainCommandOf("trainer", checks ? "check" : "setup"), arguments));
  if (words.alone.size() == 1 && words.alone.front() == "setup") return SetUp(words, call);
  if (words.alone.size() == 1 && words.alone.front() == "check") return CheckEnvironment(words);
  return Status(Code::kInvalidArgument, UsageOf(TrainCommandOf("trainer")));
}

}  // namespace

int RunTrainCommand(const std::vector<std::string>& words, const PluginServices& call) {
  const std::vector<std::string> arguments(words.begin() + 1, words.end());
  const auto run = [&] {
    if (words.front() == "sample") return RunSample(arguments, call);
    if (words.front() == "eval") return RunEval(arguments, call);
    if (words.front() == "export") return RunExport(arguments, call);
    if (words.front() == "predict") return RunPredict(arguments, call);
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
