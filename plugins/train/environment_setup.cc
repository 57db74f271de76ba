#include "plugins/train/environment_setup.h"

#include <signal.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/child_process.h"
#include "base/digest.h"
#include "base/str.h"
#include "base/whole_file.h"
#include "plugins/train/directory_lock.h"
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
/// The versions for which every requirements-*.txt has wheels; tests/trainer/locks.py checks this.
constexpr std::array<int, 3> kMinors = {13, 12, 11};
constexpr const char* kSupported = "3.11, 3.12 and 3.13";
/// Debian has ensurepip in a separate package, and no environment can be made without it.
constexpr const char* kProbe =
    "import sys, importlib.util as u; print(*sys.version_info[:2], int(bool(u.find_spec('ensurepip'))))";
constexpr std::size_t kMostAnswer = 4096;

struct Probe {
  int major = 0;
  int minor = 0;
  int makes_environments = 0;

  std::string version() const { return StrCat(major, ".", minor); }
  bool supported() const {
    return major == 3 && std::find(kMinors.begin(), kMinors.end(), minor) != kMinors.end();
  }
  /// The reason why it cannot be used; empty: it can.
  std::string Lack() const {
    if (!supported()) return StrCat("is Python ", version());
    return makes_environments != 0 ? std::string() : StrCat("is Python ", version(), " without ensurepip");
  }
  std::string Remedy() const {
    return supported() ? StrCat("apt install python", version(), "-venv")
                       : std::string("apt install python3.11 python3.11-venv");
  }
};

Status Unusable(std::string_view program, std::string_view why) {
  return Status(Code::kFailedPrecondition, StrCat(program, ": no Python that can be run: ", why));
}

Result<Probe> Ask(const std::string& program, const PluginServices& call) {
  ChildOptions options;
  options.argv = {program, "-c", kProbe};
  options.environment = ChangedEnvironment({}, {"PYTHONHOME", "PYTHONPATH"});
  Result<std::unique_ptr<ChildProcess>> child = ChildProcess::Start(options);
  if (!child.ok()) return Unusable(program, child.status().message());
  (*child)->CloseInput();
  std::string answer;
  std::array<char, kMostAnswer> buffer = {};
  while (answer.size() < kMostAnswer) {
    ASSIGN_OR_RETURN(const std::size_t got, (*child)->Read(buffer, call.stop));
    if (got == 0) break;
    answer.append(buffer.data(), got);
  }
  ASSIGN_OR_RETURN(const ChildExit exit, (*child)->Wait(call.stop, 2s));
  Probe probe;
  std::istringstream words(answer);
  if (exit.ok() && words >> probe.major >> probe.minor >> probe.makes_environments) return probe;
  return Unusable(program, exit.ok() ? std::string("it does not tell its version") : exit.Describe());
}

Status NoneFits(std::string_view found, std::string_view remedy) {
  return Status(Code::kFailedPrecondition,
                StrCat("the environment of the trainer wants Python ", kSupported, ", and ", found,
                       "; install one: ", remedy, "; or name one: --python PATH"));
}

struct PythonChoice {
  std::string program;  // a path, or a name in PATH
  std::string version;  // "3.11"
};

/// Returns `named`, or if it is empty the first of python3, python3.13, python3.12 and python3.11 that the
/// requirements support and that can create environments. kFailedPrecondition names those found and the
/// command that fixes it. Downloads nothing.
Result<PythonChoice> ChoosePython(const std::string& named, const PluginServices& call) {
  std::vector<std::string> programs = {named};
  if (named.empty()) {
    programs = {"python3"};
    for (const int minor : kMinors) programs.push_back(StrCat("python3.", minor));
  }
  std::string found, remedy = Probe().Remedy();
  bool mends = false;  // what `remedy` completes is there already
  for (const std::string& program : programs) {
    const Result<Probe> probe = Ask(program, call);
    if (call.stopped()) return Status(Code::kCancelled, "stopped");
    if (!probe.ok()) {
      if (!named.empty()) return probe.status();
      continue;
    }
    const std::string lack = probe->Lack();
    if (lack.empty()) return PythonChoice{program, probe->version()};
    found += StrCat(found.empty() ? "" : ", ", program, " ", lack);
    if (probe->supported() && !mends) mends = true, remedy = probe->Remedy();
  }
  return NoneFits(found.empty() ? std::string("no python3 is on PATH") : found, remedy);
}

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
