// A plugin loaded into this process. Rules: plugins/ABI.md.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/log.h"
#include "base/result.h"
#include "dag/records/stored_object.h"
#include "plugins/description.h"
#include "storage/store.h"

struct pipe_plugin;

namespace pipeline {

/// The host's services for one plugin call. They outlive the call; their functions are called from any
/// thread.
struct PluginServices {
  std::function<void(Level level, std::string_view line)> log;
  /// Receives the events of `pipe.events/1`; empty: events are ignored.
  std::function<void(const Json& event)> event = {};
  /// For `pipe.storage/1`; empty: the call does not have this extension.
  std::function<Result<std::unique_ptr<Store>>(const std::string& uri)> open_store = {};
  /// The commit condition of an object, given its full URI; absent: the plugin's condition applies.
  std::function<std::optional<Condition>(const std::string& uri)> condition = {};
  /// Called after a commit; `object` has the last part of the URI as its name.
  std::function<void(const std::string& uri, const StoredObject& object)> committed = {};
  /// For `pipe.pipeline/1`: the plugin's stages in a pipeline file; empty: the call does not have this
  /// extension.
  std::function<Result<Json>(const Json& request)> pipeline = {};
  /// Called before a small object is written by its version, with its full URI; if it fails, nothing is
  /// written. Empty: the caller holds no location.
  std::function<Status(const std::string& uri)> confirm = {};
  /// For `pipe.metadata/1`: a value of the metadata server; empty: the call does not have this extension.
  std::function<Result<std::optional<std::string>>(std::string_view path)> metadata = {};
  /// Called after an object was removed, with its full URI.
  std::function<void(const std::string& uri)> removed = {};
  std::stop_token stop = {};
};

/// Never unloaded. Safe from any thread.
class Plugin {
 public:
  /// Runs the library's code in this process: call it only after a child process loaded it successfully
  /// (plugins/loader.h). kInvalidArgument names `path` if it is not a plugin of this ABI version.
  static Result<std::shared_ptr<const Plugin>> Load(const std::string& path);

  const std::string& name() const { return name_; }
  const std::string& version() const { return version_; }
  const std::string& path() const { return path_; }
  /// The reply of `describe`.
  const std::string& description_text() const { return description_text_; }
  const PluginDescription& description() const { return *description_; }

  /// Each calls the plugin and returns its reply; null: no reply, or no such function.
  Result<Json> Check(const Json& request, const PluginServices& services) const;
  Result<Json> Forecast(const Json& request, const PluginServices& services) const;
  Result<Json> Run(const Json& request, const PluginServices& services) const;
  /// Calls its pipe.prepare/1; OK if it has none.
  Status Prepare(const Json& request, const PluginServices& services) const;
  /// Calls its pipe.hosts/1; null: it has none.
  Result<Json> FindHost(const Json& request, const PluginServices& services) const;
  /// Calls its pipe.expand/1; null: it has none.
  Result<Json> Expand(const Json& request, const PluginServices& services) const;
  /// Runs one of its commands and returns the exit code; `words` begins with the command.
  Result<int> RunCommand(const std::vector<std::string>& words, const PluginServices& services) const;

 private:
  explicit Plugin(std::string path);
  Status Begin(const void* entry);
  Status Describe();

  const std::string path_;
  std::unique_ptr<const pipe_plugin> functions_;  // a copy; members beyond its struct_size are null
  std::string name_;
  std::string version_;
  std::string description_text_;
  std::unique_ptr<const PluginDescription> description_;
};

}  // namespace pipeline
