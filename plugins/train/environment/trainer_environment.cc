#include "plugins/train/environment/trainer_environment.h"

#include <dlfcn.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <sstream>
#include <utility>

#include "base/digest.h"
#include "base/str.h"
#include "base/whole_file.h"
#include "plugins/native/entry.h"
#include "plugins/train/command_table.h"
#include "plugins/train/file_facts.h"

namespace pipeline {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRequirements = "requirements-";
constexpr std::string_view kText = ".txt";
constexpr std::uint64_t kLeastStack = 128 << 10;  // bytes; with less the interpreter dies of a signal

/// Empty if the file cannot be read.
std::string Content(const std::string& path) {
  Result<std::string> bytes = ReadWholeFile(path);
  return bytes.ok() ? std::move(*bytes) : std::string();
}

Status Unfit(std::string_view directory, std::string_view what, std::string_view command) {
  return Status(Code::kFailedPrecondition, StrCat(directory, ": ", what, "; make it with: ", command));
}

/// An upgrade of the system leaves another interpreter under the old name; the packages do not fit it.
std::string OtherVersion(const std::string& python, const std::string& version) {
  constexpr std::string_view kName = "python";
  std::error_code error;
  const std::string name = fs::canonical(python, error).filename().string();
  if (error || version.empty() || !name.starts_with("python3.")) return {};
  const std::string found = name.substr(kName.size());
  return found == version ? std::string() : found;
}

}  // namespace

std::string AbsolutePath(const std::string& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  return error ? path : absolute.lexically_normal().string();
}

EnvironmentMark ReadMark(const std::string& directory) {
  EnvironmentMark mark;
  std::istringstream(Content(StrCat(directory, "/", kMadeFrom))) >> mark.extra >> mark.digest >> mark.version;
  return mark;
}

std::string BundledDirectory() {
  Dl_info found = {};
  const auto entry = reinterpret_cast<const void*>(&pipe_native_plugin);
  if (dladdr(entry, &found) == 0 || found.dli_fname == nullptr) return "train";
  return AbsolutePath((fs::path(found.dli_fname).parent_path() / "train").string());
}

std::vector<std::string> Extras() {
  std::vector<std::string> extras;
  for (const std::string& name : NamesIn(BundledDirectory()))
    if (name.starts_with(kRequirements) && name.ends_with(kText))
      extras.push_back(name.substr(kRequirements.size(), name.size() - kRequirements.size() - kText.size()));
  std::sort(extras.begin(), extras.end());
  return extras;
}

Result<std::string> MarkOf(const std::string& extra) {
  const std::vector<std::string> extras = Extras();
  if (std::find(extras.begin(), extras.end(), extra) == extras.end()) {
    std::string all;
    for (const std::string& known : extras) all += StrCat(all.empty() ? "" : ", ", known);
    return Status(
        Code::kInvalidArgument,
        StrCat("there are no requirements for '", extra, "'; there are: ",
               all.empty() ? "none, so this installation lacks its directory " + BundledDirectory() : all));
  }
  const std::string path = StrCat(BundledDirectory(), "/", kRequirements, extra, kText);
  return StrCat(extra, " ", DigestOf(Content(path)).ToHex());
}

std::string DefaultDirectory(const std::string& extra) {
  return extra == kTensorBoard ? ".pipe/tensorboard" : kDefaultEnvironment;
}

std::string SetupCommand(const std::string& directory, const std::string& extra, const std::string& wheels) {
  std::string command = "pipe trainer setup";
  if (directory != DefaultDirectory(extra)) command += StrCat(" --dir ", Quoted(directory));
  if (extra != "cpu") command += " --extra " + extra;
  if (!wheels.empty()) command += " --wheels " + Quoted(wheels);
  return command;
}

Status CheckStack() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= kLeastStack) return {};
  return Status(
      Code::kFailedPrecondition,
      StrCat("the limit of the stack is ", HumanBytes(limit.rlim_cur), ", and Python needs ",
             HumanBytes(kLeastStack), " at least; raise it in the shell that starts pipe: ulimit -s 8192"));
}

Result<std::string> FindPython(const std::string& directory) {
  RETURN_IF_ERROR(CheckStack());
  const std::string python = AbsolutePath(directory + "/bin/python");
  const bool there = access(python.c_str(), X_OK) == 0;
  std::error_code error;
  if (!there && !fs::exists(directory, error))
    return Unfit(directory, "there is no environment for the trainer", SetupCommand(directory, "cpu"));
  if (!fs::exists(directory + "/" + kMadeFrom, error)) {
    if (there) return python;  // somebody's own
    return Unfit(directory, "no environment for the trainer: it has no bin/python",
                 SetupCommand(directory, "cpu"));
  }
  const EnvironmentMark mark = ReadMark(directory);
  const Result<std::string> wanted = MarkOf(mark.extra);
  if (!wanted.ok())
    return Unfit(directory, "the environment of the trainer is unfinished", SetupCommand(directory, "cpu"));
  const std::string again = SetupCommand(directory, mark.extra);
  if (*wanted != StrCat(mark.extra, " ", mark.digest))
    return Unfit(directory,
                 "the environment of the trainer was made from other requirements than this program's",
                 again);
  const std::string other = there ? OtherVersion(python, mark.version) : std::string();
  if (there && other.empty()) return python;
  return Unfit(directory,
               StrCat("the environment of the trainer was made with Python ", mark.version,
                      other.empty() ? std::string(", which is gone") : StrCat(", and has ", other, " now")),
               again);
}

bool IsSomebodysOwn(const std::string& directory) {
  std::error_code error;
  return access(StrCat(directory, "/bin/python").c_str(), X_OK) == 0 &&
         !fs::exists(StrCat(directory, "/", kMadeFrom), error);
}

std::string ExtraOf(const std::string& directory) {
  const std::string mark = Content(StrCat(directory, "/", kMadeFrom));
  return mark.find(' ') == std::string::npos ? std::string() : mark.substr(0, mark.find(' '));
}

TrainerCommand PythonCommand(const std::string& python, std::vector<std::string> words) {
  TrainerCommand command;
  command.argv = std::move(words);
  command.argv.insert(command.argv.begin(), python);
  command.set = {"PYTHONPATH=" + BundledDirectory(), "PYTHONSAFEPATH=1", "PYTHONNOUSERSITE=1",
                 "PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1"};
  command.unset = {"PYTHONHOME", "PYTHONSTARTUP"};
  return command;
}

}  // namespace pipeline
