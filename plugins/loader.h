// Finds a plugin by name, tests it in a child process and loads it. Rules: plugins/ABI.md, sections 1 and
// 2.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "plugins/native/plugin.h"

namespace pipeline {

/// The exit code of a probe that refused a plugin; no plugin would end the process with it.
inline constexpr int kProbeRefused = 97;

struct PluginPlaces {
  std::vector<std::string> directories;  // searched in this order
  /// A command that gets the path of a plugin as its last argument. It calls LoadPlugin and exits with 0,
  /// or with kProbeRefused after printing the error on stderr. A hidden command of this program.
  std::vector<std::string> probe;
  std::chrono::milliseconds probe_timeout{30'000};
};

/// Loads each plugin once. One thread at a time; any thread may use the loaded plugins.
class PluginLoader {
 public:
  explicit PluginLoader(PluginPlaces places) : places_(std::move(places)) {}

  /// `name`: a name, or a path with a slash in it. kNotFound names the searched directories;
  /// kInvalidArgument: the file is not a plugin, or it crashes or hangs while loading.
  Result<std::shared_ptr<const Plugin>> Load(const std::string& name);

  /// Every pipe_NAME.so in the directories, sorted by name; if several have one name, the one that Load
  /// finds.
  std::vector<std::string> List() const;

 private:
  Result<std::string> Find(const std::string& name) const;
  Status Probe(const std::string& path) const;

  const PluginPlaces places_;
  std::map<std::string, std::shared_ptr<const Plugin>> loaded_;  // by path
};

}  // namespace pipeline
