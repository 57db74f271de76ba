// Where the trainer's code and its Python are: CONTRACT.md, section 9.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "plugins/train/trainer_process.h"

namespace pipeline {

/// The file in an environment that names the requirements it was made from.
inline constexpr const char* kMadeFrom = "made-from";
inline constexpr const char* kDefaultEnvironment = ".pipe/trainer";

/// What lies beside this plugin: pipe_trainer/, requirements-*.txt, libpipe_reader.so.
std::string BundledDirectory();

/// What `made-from` says: the extra, the digest of its requirements, the version of Python. Those of the
/// program before have no version; all are empty where there is no such file.
struct EnvironmentMark {
  std::string extra, digest, version;
};
EnvironmentMark ReadMark(const std::string& directory);

/// The extras that there are requirements for, e.g. {"cpu"}.
std::vector<std::string> Extras();
/// The extra and the digest of an environment made from the requirements of `extra`. kInvalidArgument names
/// those there are.
Result<std::string> MarkOf(const std::string& extra);

/// The interpreter in the environment `directory`. kFailedPrecondition naming the command that mends it,
/// where it is missing, unfinished or made from other requirements.
Result<std::string> FindPython(const std::string& directory);

/// The extra that an environment was made with; empty where nothing says so.
std::string ExtraOf(const std::string& directory);

/// `python` with `words`, and the environment variables that let it find the bundled code and nothing else.
TrainerCommand PythonCommand(const std::string& python, std::vector<std::string> words);

}  // namespace pipeline
