// The program as a person calls it, without a process of its own.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/terminal/args.h"
#include "cli/terminal/process_setup.h"
#include "cli/terminal/standard_output.h"

namespace pipeline {

struct Ran {
  int exit_code = 0;
  std::string out;
  std::string err;
};

inline int RunPipeUncaptured(std::vector<std::string> words) {
  PrepareProcess();
  words.insert(words.begin(), "pipe");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  const std::vector<Command> commands = Commands();
  const std::variant<Call, Reply> parsed =
      ParseArgs(commands, VersionText, static_cast<int>(argv.size()), argv.data());
  const Call* const call = std::get_if<Call>(&parsed);
  return call == nullptr ? std::get<Reply>(parsed).exit_code : RunCall(*call);
}

/// RunPipe({"cat", place, "-l", "2"})
inline Ran RunPipe(std::vector<std::string> words) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Ran ran;
  ran.exit_code = RunPipeUncaptured(std::move(words));
  ran.out = testing::internal::GetCapturedStdout();
  ran.err = testing::internal::GetCapturedStderr();
  return ran;
}

}  // namespace pipeline
