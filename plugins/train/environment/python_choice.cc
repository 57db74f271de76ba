#include "plugins/train/environment/python_choice.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

#include "base/str.h"
#include "base/whole_file.h"
#include "plugins/train/environment/setup_step.h"
#include "plugins/train/environment/trainer_environment.h"
#include "plugins/train/file_facts.h"

namespace pipeline {

namespace {

namespace fs = std::filesystem;

/// The versions for which every requirements-*.txt has wheels; tests/trainer/locks.py checks this.
constexpr std::array<int, 3> kMinors = {13, 12, 11};
constexpr const char* kSupported = "3.11, 3.12 and 3.13";
/// Debian has ensurepip in a separate package, and no environment can be made without it.
constexpr const char* kProbe =
    "import sys, importlib.util as u; print(*sys.version_info[:2], int(bool(u.find_spec('ensurepip'))))";
constexpr std::string_view kArchiveEnd = ".tar.gz";
/// The directory in an environment for a Python that was brought; an archive has it as its only top folder.
constexpr const char* kBroughtTo = "/python";
constexpr const char* kLog = "/python.log";
/// `NAME SHA256` of the release's archive of CPython, beside the requirements. If absent: the program was
/// built without one.
constexpr const char* kPinned = "/python.txt";
constexpr std::size_t kSha256Digits = 64;

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
};

Result<Probe> Ask(const std::string& program, const PluginServices& call) {
  const auto unusable = [&program](std::string_view why) {
    return Status(Code::kFailedPrecondition, StrCat(program, ": no Python that can be run: ", why));
  };
  const Result<std::string> answer = AnswerOf({program, "-c", kProbe}, call);
  if (!answer.ok()) return unusable(answer.status().message());
  Probe probe;
  std::istringstream words(*answer);
  if (words >> probe.major >> probe.minor >> probe.makes_environments) return probe;
  return unusable("it does not tell its version");
}

struct PinnedArchive {
  std::string name, sha256;
};

PinnedArchive ReadPinned() {
  PinnedArchive pinned;
  const Result<std::string> line = ReadWholeFile(BundledDirectory() + kPinned);
  if (line.ok()) std::istringstream(*line) >> pinned.name >> pinned.sha256;
  return pinned.sha256.size() == kSha256Digits ? pinned : PinnedArchive();
}

bool HasUv(const PluginServices& call) { return AnswerOf({"uv", "--version"}, call).ok(); }

std::string InArchive(const std::string& name, std::string_view again) {
  return StrCat("this release has one, the file ", name, ": ", again, " --python ", name);
}

/// The one command that gives this machine a Python. `lacking`: a version that only lacks ensurepip; empty:
/// none is here.
std::string RemedyFor(const std::string& lacking, std::string_view again, const PluginServices& call) {
  if (!lacking.empty()) return StrCat("install the rest of it: apt install python", lacking, "-venv");
  if (!again.empty() && HasUv(call))
    return StrCat("uv fetches one: ", again, " --python 3.", kMinors.front());
  if (const std::string name = ReadPinned().name; !again.empty() && !name.empty())
    return InArchive(name, again);
  return "install one: apt install python3.11 python3.11-venv; or name one: --python PATH";
}

Status NoneFits(std::string_view found, std::string_view remedy) {
  return Status(Code::kFailedPrecondition, StrCat("the environment of the trainer wants Python ", kSupported,
                                                  ", and ", found, "; ", remedy));
}

/// The Python among `programs` that can be used. `must`: a program that cannot be run is a failure.
Result<PythonChoice> FirstOf(const std::vector<std::string>& programs, bool must, std::string_view again,
                             const PluginServices& call) {
  std::string found, lacking;
  for (const std::string& program : programs) {
    const Result<Probe> probe = Ask(program, call);
    if (call.stopped()) return Status(Code::kCancelled, "stopped");
    if (!probe.ok()) {
      if (must) return probe.status();
      continue;
    }
    const std::string lack = probe->Lack();
    if (lack.empty()) return PythonChoice{PythonChoice::From::kHere, program, probe->version()};
    found += StrCat(found.empty() ? "" : ", ", program, " ", lack);
    if (probe->supported() && lacking.empty()) lacking = probe->version();
  }
  return NoneFits(found.empty() ? std::string("no python3 is on PATH") : found,
                  RemedyFor(lacking, again, call));
}

/// Whether `named` is a supported version, such as 3.12, and no file.
bool IsVersion(const std::string& named) {
  return std::any_of(kMinors.begin(), kMinors.end(),
                     [&](const int minor) { return named == StrCat("3.", minor); });
}

/// "3.11" of "…-python-3.11.2-linux-x86_64.tar.gz".
std::string VersionOfArchive(const std::string& name) {
  for (const int minor : kMinors) {
    const std::string version = StrCat("3.", minor);
    if (name.find(StrCat("-", version, ".")) != std::string::npos) return version;
  }
  return {};
}

Result<PythonChoice> OfVersion(const std::string& version, std::string_view again,
                               const PluginServices& call) {
  const std::string program = "python" + version;
  const Result<Probe> probe = Ask(program, call);
  if (probe.ok() && probe->Lack().empty() && probe->version() == version)
    return PythonChoice{PythonChoice::From::kHere, program, version};
  if (HasUv(call)) return PythonChoice{PythonChoice::From::kUv, {}, version};
  const std::string why =
      probe.ok() ? StrCat(program, " ", probe->Lack()) : StrCat(program, " is not on PATH");
  const PinnedArchive pinned = ReadPinned();
  return NoneFits(StrCat(why, ", nor is uv, which could fetch it"),
                  VersionOfArchive(pinned.name) == version
                      ? InArchive(pinned.name, again)
                      : StrCat("install it: apt install ", program, " ", program, "-venv"));
}

Result<PythonChoice> OfArchive(const std::string& path, const PluginServices& call) {
  const PinnedArchive pinned = ReadPinned();
  const auto refused = [&path](std::string_view why) {
    return Status(Code::kFailedPrecondition, StrCat("--python: ", path, ": ", why));
  };
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return refused("there is no such file");
  const std::string version = VersionOfArchive(pinned.name);
  if (version.empty())
    return refused(
        "this program was built without the digest of an archive; unpack it and name its bin/python3");
  ASSIGN_OR_RETURN(const std::string answer, AnswerOf({"sha256sum", "--", path}, call));
  // A name with a backslash or a line end has a backslash before the digest.
  const std::string digest = answer.substr(answer.starts_with('\\') ? 1 : 0, kSha256Digits);
  if (digest != pinned.sha256)
    return refused(StrCat("has the SHA-256 ", digest, ", and ", pinned.name,
                          " of this program's release has ", pinned.sha256, "; take that file"));
  return PythonChoice{PythonChoice::From::kArchive, path, version};
}

/// uv makes a directory of its own for each version, and links to it.
Result<std::string> ByUv(const std::string& version, const std::string& directory,
                         const PluginServices& call) {
  const std::string to = directory + kBroughtTo, log = directory + kLog;
  RETURN_IF_ERROR(RunStep({.name = "uv python install",
                           .argv = {"uv", "python", "install", version},
                           .log = log,
                           .set = {"UV_PYTHON_INSTALL_DIR=" + to, "UV_PYTHON_INSTALL_BIN=0"}},
                          call));
  for (const std::string& name : NamesIn(to)) {
    std::error_code error;
    const std::string program = StrCat(to, "/", name, "/bin/python", version);
    if (!fs::is_symlink(StrCat(to, "/", name), error) && fs::exists(program, error)) return program;
  }
  return Status(Code::kUnavailable, StrCat("uv python install ", version, ": left no bin/python", version,
                                           " in ", to, "; its whole output: ", log));
}

}  // namespace

std::string PythonChoice::Describe() const {
  switch (from) {
    case From::kHere: return StrCat(program, ", Python ", version);
    case From::kArchive: return StrCat("Python ", version, " from ", program);
    case From::kUv: return StrCat("Python ", version, ", which uv fetches");
  }
  return {};
}

Result<PythonChoice> ChoosePython(const std::string& named, std::string_view again,
                                  const PluginServices& call) {
  std::error_code error;
  if (IsVersion(named) && !fs::exists(named, error)) return OfVersion(named, again, call);
  if (named.ends_with(kArchiveEnd)) return OfArchive(named, call);
  if (!named.empty()) return FirstOf({named}, true, again, call);
  std::vector<std::string> programs = {"python3"};
  for (const int minor : kMinors) programs.push_back(StrCat("python3.", minor));
  return FirstOf(programs, false, again, call);
}

Result<std::string> BringPython(const PythonChoice& choice, const std::string& directory,
                                const PluginServices& call) {
  if (choice.from == PythonChoice::From::kHere) return choice.program;
  if (choice.from == PythonChoice::From::kUv) return ByUv(choice.version, directory, call);
  RETURN_IF_ERROR(RunStep({.name = "tar",
                           .argv = {"tar", "-xzf", choice.program, "--no-same-owner", "-C", directory},
                           .log = directory + kLog},
                          call));
  return StrCat(directory, kBroughtTo, "/bin/python", choice.version);
}

}  // namespace pipeline
