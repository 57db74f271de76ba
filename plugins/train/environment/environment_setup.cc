#include "plugins/train/environment/environment_setup.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/str.h"
#include "base/whole_file.h"
#include "plugins/train/command_table.h"
#include "plugins/train/directory_lock.h"
#include "plugins/train/environment/package_install.h"
#include "plugins/train/environment/python_choice.h"
#include "plugins/train/environment/setup_step.h"
#include "plugins/train/environment/trainer_environment.h"
#include "plugins/train/file_facts.h"

namespace pipeline {

namespace {

namespace fs = std::filesystem;

constexpr const char* kUnfinished = "unfinished";
constexpr const char* kLockedEnvironments = ".pipe/environments/";
/// The packages that the trainer imports; a wheel that does not fit this machine fails here.
constexpr const char* kImports = "import jax, numpy, optax, orbax.checkpoint";
constexpr std::array<const char*, 2> kTpuNodes = {"/dev/accel0", "/dev/vfio/0"};
/// In an unfinished environment: files that have arrived, for the next attempt. If absent: pip has a cache.
constexpr const char* kCache = "cache";

Status WriteMark(const std::string& directory, std::string_view mark) {
  return WriteWholeFile(StrCat(directory, "/", kMadeFrom), StrCat(mark, "\n"), Durability::kSeen);
}

/// Gives a directory to this process, and waits for another setup of it. kFailedPrecondition: it has
/// something that this command has not made.
Result<FileDescriptor> TakeDirectory(const std::string& directory, const PluginServices& call) {
  std::error_code error;
  const std::vector<std::string> names = NamesIn(directory);
  if (!fs::exists(StrCat(directory, "/", kMadeFrom), error) &&
      std::any_of(names.begin(), names.end(), [](const auto& name) { return name != kDirectoryLock; }))
    return Status(
        Code::kFailedPrecondition,
        StrCat(directory, ": is there, and was not made by this command; remove it, or name another --dir"));
  Result<FileDescriptor> lock = LockDirectory(directory);
  if (lock.ok() || lock.status().code() != Code::kUnavailable) return lock;
  call.log(Level::kInfo, StrCat(directory, ": another setup makes this environment; waiting for its end"));
  return WaitForDirectory(directory, [&call] { return call.stopped(); });
}

/// Removes what a directory of TakeDirectory has, except files that have arrived for an unfinished one.
Status ClearDirectory(const std::string& directory) {
  const bool resumes = ReadMark(directory).extra == kUnfinished;
  RETURN_IF_ERROR(WriteMark(directory, kUnfinished));  // first: after a kill the directory is still ours
  for (const std::string& name : NamesIn(directory))
    if (name != kMadeFrom && name != kDirectoryLock && !(resumes && name == kCache))
      RETURN_IF_ERROR(RemoveAll(StrCat(directory, "/", name)));
  return {};
}

/// The directory for files that have arrived; empty: pip has one where it may write.
Result<std::string> CacheFor(const std::string& directory, const std::string& python,
                             const PluginServices& call) {
  const Result<std::string> known = AnswerOf({python, "-m", "pip", "cache", "dir"}, call);
  if (call.stopped()) return Status(Code::kCancelled, "stopped");
  std::error_code error;
  fs::path place = known.ok() ? known->substr(0, known->find('\n')) : std::string();
  while (place.has_relative_path() && !fs::exists(place, error)) place = place.parent_path();
  return access(place.c_str(), W_OK) == 0 ? std::string() : StrCat(directory, "/", kCache);
}

Status CheckRoom(const std::string& directory, const EnvironmentSizes& sizes) {
  ASSIGN_OR_RETURN(const std::uint64_t free, FreeBytesAt(directory));
  if (free >= sizes.installed) return {};
  return Status(Code::kFailedPrecondition,
                StrCat(directory, ": the environment has ", HumanBytes(sizes.installed), ", and ",
                       HumanBytes(free), " are free on this disk; free some space, or name another --dir"));
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

struct Contents {
  std::string requirements;  // a file
  std::string mark = {};     // the extra and the digest
  std::string wheels = {};   // PackageInstall::wheels
  EnvironmentSizes sizes = {};
  bool ours = true;              // false: requirements of other people
  const char* imports = "pass";  // the first program that the environment must run
};

std::string Shown(const EnvironmentSizes& sizes) {
  if (sizes.installed == 0) return {};
  return StrCat("; ", HumanBytes(sizes.downloaded), " to download, ", HumanBytes(sizes.installed),
                " on the disk");
}

/// pip fails without a network, and if a directory of wheels is for another Python.
std::string HintFor(const Contents& contents, const PythonChoice& choice) {
  if (!contents.ours) return {};
  if (contents.wheels.empty())
    return "; a machine without a network needs --wheels DIR, which `pipe trainer wheels` makes elsewhere";
  return StrCat("; the files for this Python come by `pipe trainer wheels ", Quoted(contents.wheels),
                " --for ", choice.version, "` on a machine with a network");
}

/// Makes an environment without packages in an empty directory.
Result<PackageInstall> BeginInstall(const std::string& directory, const Contents& contents,
                                    const PythonChoice& choice, const PluginServices& call) {
  const std::string here = AbsolutePath(directory), log = directory + "/setup.log";
  PackageInstall install = {.python = here + "/bin/python",
                            .requirements = contents.requirements,
                            .wheels = contents.wheels,
                            .log = log,
                            .downloaded = contents.sizes.downloaded,
                            .renews_pip = contents.ours};
  ASSIGN_OR_RETURN(const std::string maker, BringPython(choice, here, log, call));
  RETURN_IF_ERROR(
      RunStep({.name = maker + " -m venv", .argv = {maker, "-m", "venv", directory}, .log = log}, call));
  ASSIGN_OR_RETURN(install.cache, CacheFor(here, install.python, call));
  return install;
}

/// Makes the environment in an empty directory, and at last its mark.
Status Make(const std::string& directory, const Contents& contents, const PythonChoice& choice,
            const PluginServices& call) {
  RETURN_IF_ERROR(ClearDirectory(directory));
  RETURN_IF_ERROR(CheckRoom(directory, contents.sizes));
  call.log(Level::kInfo, StrCat("making the environment ", directory, " from ",
                                fs::path(contents.requirements).filename().string(), " with ",
                                choice.Describe(), Shown(contents.sizes)));
  ASSIGN_OR_RETURN(PackageInstall install, BeginInstall(directory, contents, choice, call));
  if (const Status status = InstallPackages(install, call); !status.ok())
    return Status(status.code(), StrCat(status.message(), HintFor(contents, choice)));
  RETURN_IF_ERROR(RunStep({.name = "the first import",
                           .argv = {install.python, "-c", contents.imports},
                           .log = directory + "/import.log"},
                          call));
  RETURN_IF_ERROR(RemoveAll(StrCat(directory, "/", kCache)));
  return WriteMark(directory, StrCat(contents.mark, " ", choice.version));
}

std::string RequirementsOf(const std::string& extra) {
  return StrCat(BundledDirectory(), "/requirements-", extra, ".txt");
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
  ASSIGN_OR_RETURN(const FileDescriptor alone, TakeDirectory(directory, call));
  const EnvironmentMark mark = ReadMark(directory);
  ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(requirements));
  const std::string digest = DigestOf(text).ToHex();
  if (mark.extra == kLocked && mark.digest == digest) return directory;
  ASSIGN_OR_RETURN(const PythonChoice choice, ChoosePython({}, {}, call));
  const Contents contents = {
      .requirements = requirements, .mark = StrCat(kLocked, " ", digest), .ours = false};
  RETURN_IF_ERROR(Make(directory, contents, choice, call));
  return directory;
}

Result<bool> SetUpEnvironment(const EnvironmentSetup& setup, const PluginServices& call) {
  ASSIGN_OR_RETURN(const std::string mark, MarkOf(setup.extra));
  const std::string again = SetupCommand(setup.directory, setup.extra);
  PythonChoice choice;
  if (!setup.python.empty()) {
    ASSIGN_OR_RETURN(choice, ChoosePython(setup.python, again, call));
  }
  if (Stands(setup, choice.version)) return true;
  if (setup.python.empty()) {
    ASSIGN_OR_RETURN(choice, ChoosePython({}, again, call));
  }
  std::error_code error;
  if (!setup.wheels.empty() && !fs::is_directory(setup.wheels, error))
    return Status(Code::kFailedPrecondition, StrCat("--wheels: ", setup.wheels,
                                                    ": there is no such directory; `pipe trainer wheels` "
                                                    "makes one on a machine with a network"));
  ASSIGN_OR_RETURN(const FileDescriptor alone, TakeDirectory(setup.directory, call));
  if (Stands(setup, choice.version)) return true;  // another setup has made it meanwhile
  WarnWithoutTpu(setup.extra, call);
  const Contents contents = {.requirements = RequirementsOf(setup.extra),
                             .mark = mark,
                             .wheels = setup.wheels,
                             .sizes = SizesOf(setup.extra),
                             .imports = kImports};
  RETURN_IF_ERROR(Make(setup.directory, contents, choice, call));
  return false;
}

Status FetchWheels(const WheelFetch& fetch, const PluginServices& call) {
  RETURN_IF_ERROR(MarkOf(fetch.extra).status());
  const std::string again = StrCat("pipe trainer wheels ", Quoted(fetch.directory));
  ASSIGN_OR_RETURN(const PythonChoice choice, ChoosePython(fetch.python, again, call));
  // An environment of its own, for the pip of this release alone.
  const std::string tools = AbsolutePath(fetch.directory) + "/.tools";
  ASSIGN_OR_RETURN(const FileDescriptor alone, TakeDirectory(tools, call));
  RETURN_IF_ERROR(ClearDirectory(tools));
  const Contents contents = {
      .requirements = RequirementsOf(fetch.extra), .wheels = fetch.directory, .sizes = SizesOf(fetch.extra)};
  call.log(Level::kInfo, StrCat("fetching the wheels of requirements-", fetch.extra,
                                ".txt: ", HumanBytes(contents.sizes.downloaded)));
  ASSIGN_OR_RETURN(const PackageInstall install, BeginInstall(tools, contents, choice, call));
  RETURN_IF_ERROR(DownloadPackages(install, fetch.version, call));
  return RemoveAll(tools);
}

}  // namespace pipeline
