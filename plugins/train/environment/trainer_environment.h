// Locates the trainer's code and its Python: CONTRACT.md, section 9.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/result.h"
#include "plugins/train/trainer_process.h"

namespace pipeline {

/// The file in an environment that names the requirements used to create it.
inline constexpr const char* kMadeFrom = "made-from";
inline constexpr const char* kDefaultEnvironment = ".pipe/trainer";
/// The extra of an environment that has TensorBoard and no trainer.
inline constexpr const char* kTensorBoard = "tensorboard";

/// Variables that an interpreter of an environment must not have: it would look into another one's files.
inline constexpr std::array<const char*, 2> kOtherPython = {"PYTHONHOME", "PYTHONPATH"};

/// The directory of an environment of `extra`, if nobody names another one.
std::string DefaultDirectory(const std::string& extra);

/// The directory of the files beside this plugin: pipe_trainer/, requirements-*.txt, libpipe_reader.so.
std::string BundledDirectory();

/// The path from the root, without `.` and `..`; `path` itself if there is no working directory.
std::string AbsolutePath(const std::string& path);

/// The content of `made-from`: the extra, the digest of its requirements, the Python version. The version
/// is empty if an earlier release wrote the file; all are empty if the file does not exist.
struct EnvironmentMark {
  std::string extra, digest, version;
};
EnvironmentMark ReadMark(const std::string& directory);

/// The extras that have requirements, for example {"cpu"}.
std::vector<std::string> Extras();
/// The extra and digest of an environment created from the requirements of `extra`. kInvalidArgument names
/// the existing extras.
Result<std::string> MarkOf(const std::string& extra);

/// `pipe trainer setup` with the words that make this environment, quoted for a shell.
std::string SetupCommand(const std::string& directory, const std::string& extra,
                         const std::string& wheels = {});

/// kFailedPrecondition: the limit of the stack, with which a process begins, is too small for Python.
Status CheckStack();

/// The interpreter in the environment `directory`. kFailedPrecondition names the command that fixes it, if
/// the environment is missing, unfinished or made from other requirements.
Result<std::string> FindPython(const std::string& directory);

/// Whether `directory` has a bin/python that is not of `pipe trainer setup`: it may run another trainer.
bool IsSomebodysOwn(const std::string& directory);

/// The extra of an environment; empty: unknown.
std::string ExtraOf(const std::string& directory);

/// `python` with `words`, and environment variables that let it import the bundled code and nothing else, and
/// leave nothing beside that code: a package of another Python takes away what it knows.
TrainerCommand PythonCommand(const std::string& python, std::vector<std::string> words);

}  // namespace pipeline
