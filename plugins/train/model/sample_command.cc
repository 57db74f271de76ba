#include <utility>

#include "base/str.h"
#include "plugins/train/command_table.h"
#include "plugins/train/model/model_commands.h"
#include "plugins/train/model/named_run.h"
#include "plugins/train/trainer_output.h"

namespace pipeline {

Status RunSample(const std::vector<std::string>& arguments, const PluginServices& call) {
  const CommandEntry& command = TrainCommandOf("sample");
  ASSIGN_OR_RETURN(const CommandWords words, ParseCommandWords(command, arguments));
  if (words.alone.size() != 1) return Status(Code::kInvalidArgument, UsageOf(command));
  RETURN_IF_ERROR(CheckNumber(words, "--length", 1, 1'000'000, true));
  RETURN_IF_ERROR(CheckNumber(words, "--temperature", 0, 100, false));
  RETURN_IF_ERROR(CheckNumber(words, "--top-p", 0, 1, false));
  RETURN_IF_ERROR(CheckNumber(words, "--seed", 0, 2147483647, true));
  ASSIGN_OR_RETURN(const NamedRun run, BringRun(words.alone.front(), words, call));
  std::vector<std::string> asked = {"-m", "pipe_trainer.sample", "--run", run.directory};
  for (const auto& [flag, value] : words.flags)
    if (flag != "--environment" && flag != "--cache") asked.push_back(StrCat(flag, "=", value));
  return PrintTrainer(run.python, std::move(asked), {}, call);
}

}  // namespace pipeline
