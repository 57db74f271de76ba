// From a plugin's name to a plugin that has been tried out. Rules: plugins/ABI.md, sections 1 and 2.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "plugins/plugin.h"

namespace pipeline {

/// A code that no plugin would end the process with by itself.
inline constexpr int kProbeRefused = 97;

struct PluginPlaces {
  std::vector<std::string> directories;  // in the order in which they are searched
  /// A command to which the path of a plugin is added: it calls Plugin::Load, and ends with 0, or with
  /// kProbeRefused after saying on stderr what is wrong. A hidden command of this program.
  std::vector<std::string> probe;
  std::chrono::milliseconds probe_timeout{30'000};
};

/// Loads each plugin once. One thread at a time; what it gave may be used from any.
class PluginLoader {
 public:
  explicit PluginLoader(PluginPlaces places) : places_(std::move(places)) {}

  /// By name, or by a path with a slash in it. kNotFound where there is no such file, saying where it was
  /// looked for; kInvalidArgument for one that is no plugin, or crashes or hangs while it loads.
  Result<std::shared_ptr<const Plugin>> Load(const std::string& name);

  /// Every pipe_NAME.so in the directories, the one that Load would take where several have a name; by name.
  std::vector<std::string> List() const;

 private:
  Result<std::string> Find(const std::string& name) const;
  Status Probe(const std::string& path) const;

  const PluginPlaces places_;
  std::map<std::string, std::shared_ptr<const Plugin>> loaded_;  // by path
};

}  // namespace pipeline
