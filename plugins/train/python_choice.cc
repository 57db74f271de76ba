#include "plugins/train/python_choice.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "base/child_process.h"
#include "base/str.h"
#include "plugins/train/trainer_process.h"

namespace pipeline {

namespace {

using namespace std::chrono_literals;

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
  std::stop_source stop;
  const std::jthread watch([&](const std::stop_token& off) {
    while (!off.stop_requested() && !stop.stop_requested()) {
      if (call.stopped()) stop.request_stop();
      std::this_thread::sleep_for(10ms);
    }
  });
  std::string answer;
  std::array<char, kMostAnswer> buffer = {};
  while (answer.size() < kMostAnswer) {
    ASSIGN_OR_RETURN(const std::size_t got, (*child)->Read(buffer, stop.get_token()));
    if (got == 0) break;
    answer.append(buffer.data(), got);
  }
  ASSIGN_OR_RETURN(const ChildExit exit, (*child)->Wait(stop.get_token(), 2s));
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

}  // namespace

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

}  // namespace pipeline
