// A plugin that is loaded into this process. Rules: plugins/ABI.md.
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
#include "plugins/description.h"
#include "records/stored_object.h"
#include "storage/store.h"

struct pipe_plugin;

namespace pipeline {

/// What the host does for a plugin during one call. Outlives the call; its functions are called from any
/// thread.
struct PluginServices {
  std::function<void(Level level, std::string_view line)> log;
  /// Takes an event of `pipe.events/1`; empty: events are passed over.
  std::function<void(const Json& event)> event = {};
  /// For `pipe.storage/1`; empty: there is no such extension in this call.
  std::function<Result<std::unique_ptr<Store>>(const std::string& uri)> open_store = {};
  /// How an object is committed, by its whole URI; absent: as the plugin says.
  std::function<std::optional<Condition>(const std::string& uri)> condition = {};
  /// Told after a commit; the object's name is the last part of the URI.
  std::function<void(const std::string& uri, const StoredObject& object)> committed = {};
  /// For `pipe.pipeline/1`: the plugin's stages of a pipeline file; empty: there is no such extension in this
  /// call.
  std::function<Result<Json>(const Json& request)> pipeline = {};
  /// Told after an object was removed, by its whole URI.
  std::function<void(const std::string& uri)> removed = {};
  std::stop_token stop = {};
};

/// Never unloaded. Safe from any thread.
class Plugin {
 public:
  /// Runs the library's code in this process: call it only after a child process came through it
  /// (plugins/loader.h). kInvalidArgument, naming `path`, for what is no plugin of this version.
  static Result<std::shared_ptr<const Plugin>> Load(const std::string& path);

  const std::string& name() const { return name_; }
  const std::string& version() const { return version_; }
  const std::string& path() const { return path_; }
  /// As `describe` replied it.
  const std::string& description_text() const { return description_text_; }
  const PluginDescription& description() const { return *description_; }

  /// Each calls the plugin and gives its reply; null where it replied nothing or has no such function.
  Result<Json> Check(const Json& request, const PluginServices& services) const;
  Result<Json> Forecast(const Json& request, const PluginServices& services) const;
  Result<Json> Run(const Json& request, const PluginServices& services) const;
  /// Asks its pipe.prepare/1; OK where it has none.
  Status Prepare(const Json& request, const PluginServices& services) const;
  /// The exit code of one of its commands; `words` begins with the command.
  Result<int> RunCommand(const std::vector<std::string>& words, const PluginServices& services) const;

 private:
  explicit Plugin(std::string path);
  Status Begin(const void* entry);
  Status Describe();

  const std::string path_;
  std::unique_ptr<const pipe_plugin> functions_;  // a copy; null members where its struct ends before
  std::string name_;
  std::string version_;
  std::string description_text_;
  std::unique_ptr<const PluginDescription> description_;
};

}  // namespace pipeline
