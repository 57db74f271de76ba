#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <system_error>

#include "base/machine.h"
#include "base/str.h"
#include "cli/submit/engine_tool.h"

extern char** environ;

namespace pipeline {

namespace {

// Stays when the group gets a signal, and tells how the program ended.
constexpr const char* kKeeper =
    R"(trap : TERM INT HUP; "$@"; code=$?; echo "$code" >"$0.part" && mv "$0.part" "$0")";

std::string CodeFile(const std::string& directory, const std::string& name) {
  return StrCat(directory, "/", name, ".code");
}

struct Living {
  std::string group;
  std::string start;  // in ticks since the machine started
};

/// Absent: there is no such process, or it has ended and nobody has waited for it.
std::optional<Living> Find(const std::string& process) {
  std::ifstream in(StrCat("/proc/", process, "/stat"));
  std::string text{std::istreambuf_iterator<char>(in), {}};
  const std::size_t end = text.rfind(')');  // the name before it may hold anything
  if (end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(end + 1));
  Living found;
  std::string field;
  for (int number = 3; number <= 22 && fields >> field; ++number) {
    if (number == 3 && (field == "Z" || field == "X")) return std::nullopt;
    if (number == 5) found.group = field;
  }
  found.start = field;
  return found;
}

/// Empty: there is no such process.
std::string StartOf(pid_t process) {
  const std::optional<Living> found = Find(std::to_string(process));
  return found ? found->start : std::string();
}

/// Returns whether a process of the group lives. In a container, the first process may never wait for those
/// that lost their parents, so ended ones stay in the group for ever.
bool GroupLives(pid_t group) {
  if (kill(-group, 0) != 0 && errno == ESRCH) return false;
  const std::string name = std::to_string(group);
  std::error_code error;
  for (std::filesystem::directory_iterator at("/proc", error), end; !error && at != end;
       at.increment(error)) {
    const std::string process = at->path().filename().string();
    if (process.empty() || process.find_first_not_of("0123456789") != std::string::npos) continue;
    if (const std::optional<Living> found = Find(process); found && found->group == name) return true;
  }
  return false;
}

/// HOST:PID:START
struct Id {
  std::string host;
  pid_t process = 0;
  std::string start;
};

Result<Id> ParseId(const std::string& text) {
  const std::size_t first = text.find(':');
  const std::size_t second = first == std::string::npos ? first : text.find(':', first + 1);
  Id id;
  if (second != std::string::npos) {
    id.host = text.substr(0, first);
    id.start = text.substr(second + 1);
    std::from_chars(text.data() + first + 1, text.data() + second, id.process);
  }
  if (id.process <= 1) return Status(Code::kDataLoss, StrCat(text, ": is no name of a job"));
  return id;
}

/// kFailedPrecondition: another machine.
Result<bool> Runs(const Id& id) {
  if (id.host != HostName())
    return Status(Code::kFailedPrecondition,
                  StrCat("the workers were started on ", id.host, "; run this there"))
        .With(std::make_shared<OnOtherMachine>());
  waitpid(id.process, nullptr, WNOHANG);  // it is our child if we started it
  const std::string start = StartOf(id.process);
  if (!start.empty()) return start == id.start;
  return GroupLives(id.process);  // the first process has ended, and perhaps others have not
}

}  // namespace

Result<std::string> StartDetached(const std::vector<std::string>& argv, const std::string& directory,
                                  const std::string& name) {
  const std::string code = CodeFile(directory, name);
  unlink(code.c_str());
  std::vector<std::string> words = {"/bin/sh", "-c", kKeeper, code};
  words.insert(words.end(), argv.begin(), argv.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  const std::string log = StrCat(directory, "/", name, ".log");
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t process = 0;
  const int failed = posix_spawn(&process, "/bin/sh", &files, &attributes, pointers.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0)
    return Status(Code::kUnavailable, StrCat(argv.front(), ": cannot be started with messages in ", log, ": ",
                                             std::strerror(failed)));
  return StrCat(HostName(), ":", process, ":", StartOf(process));
}

Result<EngineState> StateOfDetached(const std::string& text, const std::string& directory,
                                    const std::string& name) {
  ASSIGN_OR_RETURN(const Id id, ParseId(text));
  ASSIGN_OR_RETURN(const bool runs, Runs(id));
  EngineState state{.over = !runs, .told = runs ? "running" : "ended"};
  int code = 0;
  if (!runs && std::ifstream(CodeFile(directory, name)) >> code) state.code = code;
  return state;
}

Status StopDetached(const std::string& text) {
  ASSIGN_OR_RETURN(const Id id, ParseId(text));
  ASSIGN_OR_RETURN(const bool runs, Runs(id));
  if (runs && kill(-id.process, SIGTERM) != 0 && errno != ESRCH)
    return Status(Code::kPermissionDenied, StrCat("process ", id.process, ": ", std::strerror(errno)));
  return {};
}

}  // namespace pipeline
