// A plugin in this process. A stranger's plugin is one through the C ABI (plugins/ABI.md); a plugin that is
// built together with this program implements the class itself (plugins/native/entry.h). Requests and answers
// have one form for both: that of plugins/ABI.md.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "plugins/native/description.h"
#include "plugins/native/services.h"

namespace pipeline {

/// Never unloaded. Safe from any thread.
class Plugin {
 public:
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;
  virtual ~Plugin() = default;

  const std::string& name() const { return name_; }
  const std::string& version() const { return version_; }
  const std::string& path() const { return path_; }
  const PluginDescription& description() const { return *description_; }

  // Each answers a request. Null: the plugin has no answer, or no such function.
  virtual Status Check(const Json& request, const PluginServices& services) const = 0;
  virtual Result<Json> Forecast(const Json& request, const PluginServices& services) const = 0;
  virtual Status Prepare(const Json& request, const PluginServices& services) const = 0;
  virtual Result<Json> FindHost(const Json& request, const PluginServices& services) const = 0;
  virtual Result<Json> Expand(const Json& request, const PluginServices& services) const = 0;
  virtual Result<Json> Run(const Json& request, const PluginServices& services) const = 0;
  /// Runs one of its commands and returns the exit code; `words` begins with the command.
  virtual Result<int> RunCommand(const std::vector<std::string>& words,
                                 const PluginServices& services) const = 0;

 protected:
  Plugin(std::string name, std::string version, std::string path,
         std::unique_ptr<const PluginDescription> description)
      : name_(std::move(name)),
        version_(std::move(version)),
        path_(std::move(path)),
        description_(std::move(description)) {}

 private:
  const std::string name_;
  const std::string version_;
  const std::string path_;
  const std::unique_ptr<const PluginDescription> description_;
};

}  // namespace pipeline
