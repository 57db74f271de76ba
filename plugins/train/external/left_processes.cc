#include "plugins/train/external/left_processes.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <system_error>

#include "base/clock.h"
#include "base/str.h"
#include "base/wait.h"
#include "base/words.h"

namespace pipeline {

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto kPause = 50ms;     // between two looks
constexpr auto kAfterKill = 10s;  // the most that the kernel takes to end a process
constexpr std::size_t kNamed = 5;

std::string ReadAll(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// By number, the names of those whose environment has the variable.
std::map<pid_t, std::string> Find(const std::string& run_dir) {
  const std::string entry = StrCat(kRunVariable, "=", RunMark(run_dir)) + '\0';
  std::map<pid_t, std::string> found;
  std::error_code error;
  for (fs::directory_iterator at("/proc", error), end; !error && at != end; at.increment(error)) {
    const std::optional<pid_t> id = ParseNumber<pid_t>(at->path().filename().string());
    if (!id || *id == getpid()) continue;
    const std::string environment = ReadAll(at->path() / "environ");
    if (!environment.starts_with(entry) && environment.find('\0' + entry) == std::string::npos) continue;
    std::string name = ReadAll(at->path() / "comm");
    found[*id] = name.substr(0, name.find('\n'));
  }
  return found;
}

std::string Shown(const std::map<pid_t, std::string>& processes) {
  std::string shown;
  std::size_t count = 0;
  for (const auto& [id, name] : processes)
    if (count++ < kNamed) shown += StrCat(count == 1 ? "" : ", ", name, " ", id);
  return count > kNamed ? StrCat(shown, " and ", count - kNamed, " more") : shown;
}

}  // namespace

std::string RunMark(const std::string& run_dir) {
  struct stat facts = {};
  if (stat(run_dir.c_str(), &facts) != 0) return run_dir;
  return StrCat(run_dir, " ", static_cast<std::uint64_t>(facts.st_dev), ":",
                static_cast<std::uint64_t>(facts.st_ino));
}

Status EndLeftProcesses(const std::string& run_dir, std::chrono::nanoseconds grace,
                        const PluginServices& call) {
  std::map<pid_t, std::string> left = Find(run_dir);
  if (left.empty()) return {};
  call.log(Level::kWarning,
           StrCat(left.size() == 1 ? "a process" : "processes", " of an attempt outlived the trainer and ",
                  left.size() == 1 ? "is" : "are", " ended: ", Shown(left)));
  const auto begin = SystemClock().Monotonic();
  std::map<pid_t, std::string> asked;
  for (; !left.empty(); left = Find(run_dir)) {
    const auto waited = SystemClock().Monotonic() - begin;
    if (waited > grace + kAfterKill)
      return {Code::kUnavailable,
              StrCat("processes of an earlier attempt cannot be ended: ", Shown(left),
                     "; no attempt begins beside them. End them, or restart the machine")};
    for (const auto& [id, name] : left)
      if (waited > grace)
        kill(id, SIGKILL);
      else if (asked.emplace(id, name).second)
        kill(id, SIGTERM);
    (void)WaitFor(kPause, {});
  }
  return {};
}

}  // namespace pipeline
