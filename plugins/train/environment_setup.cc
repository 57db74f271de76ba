#include "plugins/train/environment_setup.h"

#include <signal.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <thread>
#include <utility>

#include "base/digest.h"
#include "base/str.h"
#include "base/whole_file.h"
#include "plugins/train/directory_lock.h"
#include "plugins/train/python_choice.h"
#include "plugins/train/trainer_environment.h"

namespace pipeline {

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr const char* kUnfinished = "unfinished";
constexpr const char* kLockedEnvironments = ".pipe/environments/";
constexpr auto kGrace = 5s;
constexpr std::size_t kShownSetupLines = 15;
/// The packages that the trainer imports; a wheel that does not fit this machine fails here.
constexpr const char* kImports = "import jax, numpy, optax, orbax.checkpoint";
constexpr std::array<const char*, 2> kTpuNodes = {"/dev/accel0", "/dev/vfio/0"};

Status WriteMark(const std::string& directory, std::string_view mark) {
  return WriteWholeFile(StrCat(directory, "/", kMadeFrom), StrCat(mark, "\n"), Durability::kSeen);
}

/// Runs one step to its end; its output goes to `log`.
Status RunStep(std::string_view what, std::vector<std::string> argv, const std::string& log,
               const PluginServices& call) {
  TrainerCommand command;
  command.argv = std::move(argv);
  command.log = log;
  command.unset = {"PYTHONHOME", "PYTHONPATH"};
  ASSIGN_OR_RETURN(const std::unique_ptr<TrainerProcess> process, TrainerProcess::Start(command));
  const TrainerProcess::Take nothing = [](const Json&) {};
  bool stopped = false;
  auto since = std::chrono::steady_clock::now();
  while (!process->HasEnded()) {
    process->ReadEvents(nothing);
    const auto now = std::chrono::steady_clock::now();
    if (!stopped && call.stopped()) stopped = true, since = now, process->Signal(SIGTERM);
    if (stopped && now - since > kGrace) process->Signal(SIGKILL);
    std::this_thread::sleep_for(50ms);
  }
  ASSIGN_OR_RETURN(const ChildExit exit, process->Finish(nothing));
  if (stopped) return Status(Code::kCancelled, "stopped");
  if (exit.ok()) return {};
  const std::vector<std::string> tail = process->log().Tail();
  for (std::size_t at = tail.size() - std::min(tail.size(), kShownSetupLines); at < tail.size(); ++at)
    call.log(Level::kInfo, StrCat("| ", tail[at]));
  return Status(Code::kUnavailable, StrCat(what, " ", exit.Describe(), "; its whole output: ", log));
}

Status ClearDirectory(const std::string& directory) {
  std::error_code error;
  const bool there = fs::exists(directory, error);
  if (there && !fs::exists(StrCat(directory, "/", kMadeFrom), error) && !fs::is_empty(directory, error))
    return Status(
        Code::kFailedPrecondition,
        StrCat(directory, ": is there, and was not made by this command; remove it, or name another --dir"));
  if (there) fs::remove_all(directory, error);
  if (!error) fs::create_directories(directory, error);
  if (error) return SystemError(directory, error.value());
  return WriteMark(directory, kUnfinished);
}

/// An environment for TPUs is useful on other machines, too: it compiles for TPUs. It cannot train there.
void WarnWithoutTpu(const std::string& extra, const PluginServices& call) {
  std::error_code error;
  if (extra != "tpu" || std::any_of(kTpuNodes.begin(), kTpuNodes.end(),
                                    [&](const char* node) { return fs::exists(node, error); }))
    return;
  call.log(Level::kWarning,
           "this machine has no TPU (no /dev/accel0, no /dev/vfio/0), so that nothing is trained here in an "
           "environment made with `--extra tpu`; leave `--extra` out for one that trains on the CPU");
}

/// Returns true if the existing environment is right. An interpreter that the user names must have its
/// version.
bool Stands(const EnvironmentSetup& setup, const std::string& version) {
  const EnvironmentMark mark = ReadMark(setup.directory);
  return mark.extra == setup.extra && (version.empty() || mark.version.empty() || mark.version == version) &&
         FindPython(setup.directory).ok();
}

/// Makes the environment of `requirements` in an empty directory, and at last its mark. `imports`: the first
/// program that it must run.
Status Make(const std::string& directory, const std::string& requirements, std::string_view mark,
            const PythonChoice& choice, const char* imports, const PluginServices& call) {
  RETURN_IF_ERROR(ClearDirectory(directory));
  std::error_code error;
  const std::string python = fs::absolute(directory, error).string() + "/bin/python";
  const std::string log = directory + "/setup.log";
  call.log(Level::kInfo,
           StrCat("making the environment ", directory, " from ", fs::path(requirements).filename().string(),
                  " with ", choice.program, ", Python ", choice.version));
  RETURN_IF_ERROR(
      RunStep(StrCat(choice.program, " -m venv"), {choice.program, "-m", "venv", directory}, log, call));
  RETURN_IF_ERROR(RunStep("pip install",
                          {python, "-m", "pip", "install", "--disable-pip-version-check", "--no-input",
                           "--only-binary=:all:", "--require-hashes", "--no-deps", "-r", requirements},
                          log, call));
  RETURN_IF_ERROR(RunStep("the first import", {python, "-c", imports}, directory + "/import.log", call));
  return WriteMark(directory, StrCat(mark, " ", choice.version));
}

}  // namespace

Result<std::string> LockedDirectory(const std::string& requirements) {
  ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(requirements));
  if (text.find("--hash=sha256:") == std::string::npos)
    return Status(Code::kInvalidArgument,
                  StrCat("environment: ", requirements,
                         " has no digests; make it with `uv pip compile --generate-hashes`, or name a "
                         "directory of your own"));
  return StrCat(kLockedEnvironments, DigestOf(text).ToHex().substr(0, 16));
}

Result<std::string> SetUpLocked(const std::string& requirements, const PluginServices& call) {
  ASSIGN_OR_RETURN(const std::string directory, LockedDirectory(requirements));
  ASSIGN_OR_RETURN(const FileDescriptor alone,
                   WaitForDirectory(directory + ".lock", [&call] { return call.stopped(); }));
  const EnvironmentMark mark = ReadMark(directory);
  ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(requirements));
  const std::string digest = DigestOf(text).ToHex();
  if (mark.extra == kLocked && mark.digest == digest) return directory;
  ASSIGN_OR_RETURN(const PythonChoice choice, ChoosePython({}, call));
  RETURN_IF_ERROR(Make(directory, requirements, StrCat(kLocked, " ", digest), choice, "pass", call));
  return directory;
}

Result<bool> SetUpEnvironment(const EnvironmentSetup& setup, const PluginServices& call) {
  ASSIGN_OR_RETURN(const std::string mark, MarkOf(setup.extra));
  PythonChoice choice;
  if (!setup.python.empty()) {
    ASSIGN_OR_RETURN(choice, ChoosePython(setup.python, call));
  }
  if (Stands(setup, choice.version)) return true;
  if (setup.python.empty()) {
    ASSIGN_OR_RETURN(choice, ChoosePython({}, call));
  }
  WarnWithoutTpu(setup.extra, call);
  const std::string requirements = StrCat(BundledDirectory(), "/requirements-", setup.extra, ".txt");
  RETURN_IF_ERROR(Make(setup.directory, requirements, mark, choice, kImports, call));
  return false;
}

}  // namespace pipeline
