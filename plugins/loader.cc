#include "plugins/loader.h"

#include <dirent.h>
#include <sys/stat.h>

#include <array>
#include <thread>
#include <utility>

#include "base/child_process.h"
#include "base/str.h"
#include "base/wait.h"
#include "dag/pipeline_file/typed_value.h"
#include "plugins/load_plugin.h"

namespace pipeline {

namespace {

constexpr std::string_view kPrefix = "pipe_";
constexpr std::string_view kSuffix = ".so";

std::string FileName(std::string_view name) { return StrCat(kPrefix, name, kSuffix); }

bool IsFile(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

/// The name of the plugin in a file name; empty: the file is no plugin.
std::string_view NameIn(std::string_view file) {
  if (!file.starts_with(kPrefix) || !file.ends_with(kSuffix)) return {};
  file.remove_prefix(kPrefix.size());
  if (file.size() <= kSuffix.size()) return {};
  file.remove_suffix(kSuffix.size());
  return IsName(file) ? file : std::string_view();
}

/// Reads and drops the output of the child until the child ends.
Status DrainOutput(ChildProcess& child, const std::stop_token& stop) {
  std::array<char, 4096> buffer{};
  while (true) {
    ASSIGN_OR_RETURN(const std::size_t got, child.Read(buffer, stop));
    if (got == 0) return {};
  }
}

/// Asks `source` to stop at the end of the time, unless it is destroyed before.
class Alarm {
 public:
  Alarm(std::stop_source source, std::chrono::milliseconds time)
      : thread_([source = std::move(source), time](const std::stop_token& off) mutable {
          if (WaitFor(time, off)) source.request_stop();
        }) {}

 private:
  std::jthread thread_;
};

}  // namespace

Result<std::shared_ptr<const Plugin>> PluginLoader::Load(const std::string& name) {
  ASSIGN_OR_RETURN(const std::string path, Find(name));
  if (const auto known = loaded_.find(path); known != loaded_.end()) return known->second;
  RETURN_IF_ERROR(Probe(path));
  ASSIGN_OR_RETURN(std::shared_ptr<const Plugin> plugin, LoadPlugin(path));
  if (name.find('/') == std::string::npos && plugin->name() != name)
    return Status(Code::kInvalidArgument, StrCat(path, ": calls itself '", plugin->name(),
                                                 "'; name the file ", FileName(plugin->name())));
  loaded_.emplace(path, plugin);
  return plugin;
}

Result<std::string> PluginLoader::Find(const std::string& name) const {
  if (name.find('/') != std::string::npos) {
    if (IsFile(name)) return name;
    return Status(Code::kNotFound, StrCat(name, ": there is no such plugin file"));
  }
  if (!IsName(name))
    return Status(Code::kInvalidArgument, StrCat("'", name, "' cannot be a plugin: ", kNameRule));
  std::string searched;
  for (const std::string& directory : places_.directories) {
    std::string path = StrCat(directory, "/", FileName(name));
    if (IsFile(path)) return path;
    searched += StrCat(searched.empty() ? "" : ", ", directory);
  }
  return Status(Code::kNotFound, StrCat("there is no plugin '", name, "': no ", FileName(name), " in ",
                                        searched.empty() ? "any directory, because none is named" : searched,
                                        "; put its directory into PIPE_PLUGINS"));
}

Status PluginLoader::Probe(const std::string& path) const {
  std::vector<std::string> argv = places_.probe;
  argv.push_back(path);
  ASSIGN_OR_RETURN(const std::unique_ptr<ChildProcess> child, ChildProcess::Start({.argv = std::move(argv)}));
  std::stop_source late;
  const Alarm alarm(late, places_.probe_timeout);
  const Status drained = DrainOutput(*child, late.get_token());
  const Result<ChildExit> exit = child->Wait(late.get_token(), std::chrono::milliseconds(100));
  const auto fail = [](std::string why) { return Status(Code::kInvalidArgument, std::move(why)); };
  const std::string said = child->StderrTail();
  const std::string words = said.empty() ? said : StrCat("; it said: ", said);
  if (late.stop_requested())
    return fail(StrCat("plugin ", path, " hangs: it did not describe itself within ",
                       places_.probe_timeout.count() / 1000, " s", words));
  if (!drained.ok()) return drained;
  if (!exit.ok()) return exit.status();
  if (exit->signal != 0)
    return fail(StrCat("plugin ", path, " crashed while loading (signal ", exit->signal, ")", words));
  if (exit->code == 0) return {};
  // The probe itself reports a mistake of the plugin; any other end has another cause.
  return fail(
      exit->code == kProbeRefused && !said.empty()
          ? said
          : StrCat("plugin ", path, " ended the program while loading (exit code ", exit->code, ")", words));
}

std::vector<std::string> PluginLoader::List() const {
  std::map<std::string, std::string, std::less<>> paths;  // by name
  for (const std::string& directory : places_.directories) {
    DIR* const opened = opendir(directory.c_str());
    if (opened == nullptr) continue;
    while (const dirent* entry = readdir(opened)) {
      const std::string_view name = NameIn(entry->d_name);
      std::string path = StrCat(directory, "/", entry->d_name);
      if (!name.empty() && IsFile(path)) paths.emplace(std::string(name), std::move(path));
    }
    closedir(opened);
  }
  std::vector<std::string> all;
  for (auto& [name, path] : paths) all.push_back(std::move(path));
  return all;
}

}  // namespace pipeline
