#include "plugins/train/environment/environment_setup.h"

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
#include "plugins/train/environment/environment_directory.h"
#include "plugins/train/environment/package_install.h"
#include "plugins/train/environment/python_choice.h"
#include "plugins/train/environment/setup_step.h"
#include "plugins/train/environment/trainer_environment.h"
#include "plugins/train/file_facts.h"

namespace pipeline {

namespace {

namespace fs = std::filesystem;

constexpr const char* kLockedEnvironments = ".pipe/environments/";
/// The packages that are imported; a wheel that does not fit this machine fails here.
constexpr const char* kTrainerImports = "import jax, numpy, optax, orbax.checkpoint";
constexpr const char* kTensorBoardImports = "import tensorboard.main";
constexpr std::array<const char*, 2> kTpuNodes = {"/dev/accel0", "/dev/vfio/0"};

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
  std::string extra = {};    // "cpu"; empty: of other people
  std::string mark = {};     // the extra and the digest
  std::string wheels = {};   // PackageInstall::wheels
  EnvironmentSizes sizes = {};
  const char* imports = "pass";  // the first program that the environment must run
};

std::string Shown(const Contents& contents) {
  const EnvironmentSizes& sizes = contents.sizes;
  if (sizes.installed == 0) return {};
  return StrCat("; ", contents.wheels.empty() ? HumanBytes(sizes.downloaded) + " to download, " : "",
                HumanBytes(sizes.installed), " on the disk");
}

/// `pipe trainer wheels` with the words that fetch these files.
std::string WheelsCommand(const std::string& directory, const std::string& extra,
                          const std::string& version) {
  std::string command = "pipe trainer wheels " + Quoted(directory);
  if (extra != "cpu") command += " --extra " + extra;
  return version.empty() ? command : StrCat(command, " --for ", version);
}

/// pip fails without a network, and if a directory of wheels is for another Python.
std::string HintFor(const Contents& contents, const PythonChoice& choice) {
  if (contents.extra.empty()) return {};
  if (contents.wheels.empty())
    return "; a machine without a network needs --wheels DIR, which `pipe trainer wheels` makes elsewhere";
  return StrCat("; the files for this Python come by `",
                WheelsCommand(contents.wheels, contents.extra, choice.version),
                "` on a machine with a network");
}

/// Makes an environment without packages in an empty directory.
Result<PackageInstall> BeginInstall(const std::string& directory, const Contents& contents,
                                    const PythonChoice& choice, const PluginServices& call) {
  const std::string here = AbsolutePath(directory);
  PackageInstall install = {.python = here + "/bin/python",
                            .requirements = contents.requirements,
                            .wheels = contents.wheels,
                            .logs = directory,
                            .downloaded = contents.sizes.downloaded,
                            .renews_pip = !contents.extra.empty()};
  ASSIGN_OR_RETURN(const std::string maker, BringPython(choice, here, call));
  RETURN_IF_ERROR(RunStep(
      {.name = maker + " -m venv", .argv = {maker, "-m", "venv", directory}, .log = directory + "/venv.log"},
      call));
  ASSIGN_OR_RETURN(install.cache, CacheFor(here, install.python, call));
  return install;
}

/// Makes the environment in an empty directory, and at last its mark.
Status Make(const std::string& directory, const Contents& contents, const PythonChoice& choice,
            const PluginServices& call) {
  RETURN_IF_ERROR(ClearDirectory(directory));
  call.log(Level::kInfo, StrCat("making the environment ", directory, " from ",
                                fs::path(contents.requirements).filename().string(), " with ",
                                choice.Describe(), Shown(contents)));
  ASSIGN_OR_RETURN(PackageInstall install, BeginInstall(directory, contents, choice, call));
  if (const Status status = InstallPackages(install, call); !status.ok())
    return Status(status.code(), StrCat(status.message(), HintFor(contents, choice)));
  RETURN_IF_ERROR(RunStep({.name = "the first import",
                           .argv = {install.python, "-c", contents.imports},
                           .log = directory + "/import.log"},
                          call));
  return FinishDirectory(directory, StrCat(contents.mark, " ", choice.version));
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
  ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(requirements));
  const std::string digest = DigestOf(text).ToHex();
  const auto stands = [&] {
    const EnvironmentMark mark = ReadMark(directory);
    return mark.extra == kLocked && mark.digest == digest;
  };
  if (stands()) return directory;
  ASSIGN_OR_RETURN(const FileDescriptor alone, TakeDirectory(directory, call));
  if (stands()) return directory;  // another stage has made it meanwhile
  ASSIGN_OR_RETURN(const PythonChoice choice, ChoosePython({}, {}, call));
  const Contents contents = {.requirements = requirements, .mark = StrCat(kLocked, " ", digest)};
  RETURN_IF_ERROR(Make(directory, contents, choice, call));
  return directory;
}

Result<bool> SetUpEnvironment(const EnvironmentSetup& setup, const PluginServices& call) {
  ASSIGN_OR_RETURN(const std::string mark, MarkOf(setup.extra));
  const std::string again = SetupCommand(setup.directory, setup.extra, setup.wheels);
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
    return Status(
        Code::kFailedPrecondition,
        StrCat("--wheels: ", setup.wheels, ": there is no such directory; on a machine with a network: ",
               WheelsCommand(setup.wheels, setup.extra, choice.version)));
  ASSIGN_OR_RETURN(const FileDescriptor alone, TakeDirectory(setup.directory, call));
  if (Stands(setup, choice.version)) return true;  // another setup has made it meanwhile
  const EnvironmentSizes sizes = SizesOf(setup.extra);
  RETURN_IF_ERROR(CheckRoom(setup.directory, sizes.installed, "another --dir"));
  WarnWithoutTpu(setup.extra, call);
  const Contents contents = {.requirements = RequirementsOf(setup.extra),
                             .extra = setup.extra,
                             .mark = mark,
                             .wheels = setup.wheels,
                             .sizes = sizes,
                             .imports = setup.extra == kTensorBoard ? kTensorBoardImports : kTrainerImports};
  RETURN_IF_ERROR(Make(setup.directory, contents, choice, call));
  return false;
}

Status FetchWheels(const WheelFetch& fetch, const PluginServices& call) {
  RETURN_IF_ERROR(MarkOf(fetch.extra).status());
  const std::string again = WheelsCommand(fetch.directory, fetch.extra, fetch.version);
  ASSIGN_OR_RETURN(const PythonChoice choice, ChoosePython(fetch.python, again, call));
  ASSIGN_OR_RETURN(const FileDescriptor alone, WaitForTurn(fetch.directory, call));
  const EnvironmentSizes sizes = SizesOf(fetch.extra);
  RETURN_IF_ERROR(CheckRoom(fetch.directory, sizes.downloaded, "another directory"));
  // An environment of its own, for the pip of this release alone.
  const std::string tools = AbsolutePath(fetch.directory) + "/.tools";
  RETURN_IF_ERROR(ClearDirectory(tools));
  call.log(Level::kInfo, StrCat("fetching the wheels of requirements-", fetch.extra,
                                ".txt: ", HumanBytes(sizes.downloaded)));
  const Contents contents = {.requirements = RequirementsOf(fetch.extra),
                             .extra = fetch.extra,
                             .wheels = fetch.directory,
                             .sizes = sizes};
  ASSIGN_OR_RETURN(const PackageInstall install, BeginInstall(tools, contents, choice, call));
  RETURN_IF_ERROR(DownloadPackages(install, fetch.version, call));
  return RemoveAll(tools);
}

}  // namespace pipeline
