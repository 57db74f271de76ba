// Makes a stage type from a plugin's stage.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/log.h"
#include "base/result.h"
#include "dag/pipeline_file/stage_type.h"
#include "plugins/loader.h"
#include "plugins/native/services.h"
#include "storage/store.h"

namespace pipeline {

/// The services of the program for all plugins. Its functions are called from any thread.
struct PluginHost {
  std::function<Result<std::unique_ptr<Store>>(const std::string& uri)> open_store;
  std::function<void(Level level, std::string_view line)> log;
  /// A value of the machine's metadata server; absent: there is none. Empty: it is not asked.
  std::function<Result<std::optional<std::string>>(std::string_view path)> metadata = {};
  /// Receives an event of a job, for the file of the run; empty: events are dropped.
  std::function<void(std::string_view stage, const Json& event)> event = {};
  /// Receives the text of a `note`, to show it; empty: not shown.
  std::function<void(std::string_view stage, std::string_view text)> note = {};
};

/// The stage types that a pipeline file requests with `plugin: NAME`. One thread at a time. Returned types
/// keep their address and refer to this object.
class PluginStages {
 public:
  /// `loader` and `host` outlive it and every stage made from its types.
  PluginStages(PluginLoader& loader, const PluginHost& host)
      : loader_(loader), host_(host), services_{.log = host.log} {}
  PluginStages(const PluginStages&) = delete;
  PluginStages& operator=(const PluginStages&) = delete;

  /// The type that the plugin calls `type`; the error lists the existing ones.
  Result<const StageType*> Find(const std::string& plugin, const std::string& type);

 private:
  PluginLoader& loader_;
  const PluginHost& host_;
  const PluginServices services_;  // for calls that need the log alone
  std::deque<StageType> types_;
};

}  // namespace pipeline
